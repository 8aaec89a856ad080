#include "sim/what_if.h"

#include <spdlog/fmt/fmt.h>

#include "sim/words.h"

namespace plait::sim {

namespace {

// "3-4 to 25 %", "leaf 1-spine 0 at 2 ms": the link, without what follows.
std::string take_link(std::string& rest) {
  size_t end = rest.size();
  for (const char* word : {" at ", " to "}) end = std::min(end, rest.find(word));
  std::string link = rest.substr(0, end);
  rest.erase(0, end);
  return link;
}

Status read_when(Words& words, double& at) {
  if (!words.skip("at")) return {};
  auto time = words.take_time();
  if (time.ok()) at = *time;
  return time.status();
}

Status finished(const Words& words) {
  return words.done() ? Status()
                      : Status(Code::invalid, fmt::format("'{}' is too much", shown(words.peek())));
}

Status read_link(bool cut, Words& words, const Places& places, WhatIf& out) {
  std::string rest = words.rest();
  auto links = find_links(*places.network, take_link(rest));
  if (!links.ok()) return links.status();
  Words tail(rest);
  double at = 0, factor = 0;
  if (!cut) {
    if (!tail.skip("to")) return {Code::invalid, "how slow? 'slow link 3-4 to 25 %'"};
    auto percent = tail.take_number(100);
    if (!percent.ok()) return percent.status();
    if (!tail.skip("%")) return {Code::invalid, "what is left of a link is said in %"};
    factor = *percent / 100;
  }
  PLAIT_TRY(read_when(tail, at));
  PLAIT_TRY(finished(tail));
  if (cut && at == 0) {
    out.cut.insert(out.cut.end(), links->begin(), links->end());
    return {};
  }
  for (uint32_t link : *links) out.changes.push_back({Change::Kind::link, at, link, factor});
  return {};
}

Status read_ranks(Words& words, const Places& places, Change change, WhatIf& out) {
  const std::string what = words.take();
  if (what != "rank" && !(what == "host" && change.kind == Change::Kind::slow))
    return {Code::invalid, fmt::format("'{}' where a rank, a host or a link is expected", shown(what))};
  const std::string name = words.take();
  int64_t number = -1;
  if (name.find_first_not_of("0123456789") == std::string::npos && !name.empty() && name.size() < 9)
    number = std::stoll(name);
  std::vector<uint32_t> who;
  for (uint32_t r = 0; r < places.seats.size(); r++)
    if ((what == "host" ? places.seats[r] / places.host : r) == number) who.push_back(r);
  if (who.empty()) return {Code::invalid, fmt::format("there is no {} {}", what, shown(name))};
  if (change.kind == Change::Kind::slow) {
    if (!words.skip("by")) return {Code::invalid, "how slow? 'slow host 2 by 3'"};
    auto factor = words.take_number(1e6);
    if (!factor.ok()) return factor.status();
    change.factor = *factor;
  }
  PLAIT_TRY(read_when(words, change.at));
  PLAIT_TRY(finished(words));
  if (change.kind == Change::Kind::slow && change.at > 0)
    return {Code::invalid, "who is slow is so from the beginning"};
  for (const uint32_t rank : who) {
    change.target = rank;
    out.changes.push_back(change);
  }
  return {};
}

Status read(Words& words, const Places& places, WhatIf& out) {
  const std::string verb = words.take();
  if (verb != "cut" && verb != "slow" && verb != "kill")
    return {Code::invalid,
            "say 'cut link 3-4', 'slow link 3-4 to 25 %', 'slow host 2 by 3' or 'kill rank 5 at 1 ms'"};
  if (verb != "kill" && words.skip("link")) return read_link(verb == "cut", words, places, out);
  if (verb == "cut") return {Code::invalid, "what is cut is a link: 'cut link 3-4'"};
  const auto kind = verb == "kill" ? Change::Kind::dead : Change::Kind::slow;
  return read_ranks(words, places, {.kind = kind}, out);
}

}  // namespace

Status read_what_if(const std::string& text, const Places& places, WhatIf& what_if) {
  Words words(text);
  const Status status = read(words, places, what_if);
  if (status.ok()) return status;
  return {Code::invalid, fmt::format("--what-if '{}': {}", shown(text), status.text())};
}

}  // namespace plait::sim
