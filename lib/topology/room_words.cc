// The words of a room's text, and lists of chips and links in it.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>

#include "topology/room_reader.h"

namespace plait::topology::room_text {

Words split(std::string_view line, std::string_view at) {
  Words words;
  while (!line.empty()) {
    const size_t end = std::min(line.find_first_of(at), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

bool number(std::string_view word, uint32_t& value) {
  uint32_t read = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), read);
  if (error != std::errc() || end != word.data() + word.size()) return false;
  value = read;
  return true;
}

std::string quoted(std::string_view word) { return fmt::format("'{}'", word.substr(0, 40)); }

std::string Reader::list(Line& l, std::vector<uint32_t>& into) {
  if (l.done()) return "of which? Say '0-7,12'";
  while (!l.done()) {
    const std::string_view word = l.next();
    const Words ends = split(word, "-");
    uint32_t first = 0, last = 0;
    if (ends.empty() || ends.size() > 2 || !number(ends.front(), first) || !number(ends.back(), last) ||
        last < first || last >= kMostChips)
      return quoted(word) + " is neither a number nor a range such as 0-7";
    if (into.size() + (last - first) > kMostChips) return "too many";
    for (uint32_t i = first; i <= last; i++) into.push_back(i);
  }
  std::sort(into.begin(), into.end());
  into.erase(std::unique(into.begin(), into.end()), into.end());
  return {};
}

std::string Reader::links(Line& l) {
  if (l.done()) return "between which chips? Say 'dead link 3-4'";
  while (!l.done()) {
    const std::string_view word = l.next();
    const Words ends = split(word, "-");
    uint32_t a = 0, b = 0;
    if (ends.size() != 2 || !number(ends[0], a) || !number(ends[1], b) || a == b)
      return quoted(word) + " is no link: say 'dead link 3-4'";
    room_.dead_links.emplace_back(std::min(a, b), std::max(a, b));
  }
  std::sort(room_.dead_links.begin(), room_.dead_links.end());
  room_.dead_links.erase(std::unique(room_.dead_links.begin(), room_.dead_links.end()),
                         room_.dead_links.end());
  return {};
}

std::string Reader::dead(Line& l) {
  if (l.take_noun("chip")) return list(l, room_.dead_chips);
  if (l.take_noun("host")) return list(l, room_.dead_hosts);
  if (l.take_noun("link")) return links(l);
  return "chips, hosts and links can be dead, not " + quoted(l.peek());
}

}  // namespace plait::topology::room_text
