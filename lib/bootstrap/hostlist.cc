#include "bootstrap/hostlist.h"

#include <algorithm>
#include <charconv>

namespace plait::bootstrap {
namespace {

constexpr size_t kMostDigits = 9;

Status wrong_list(std::string_view list, std::string_view why) {
  return {Code::invalid,
          "the host list \"" + std::string(list.substr(0, 200)) + "\" makes no sense: " + std::string(why)};
}

// "7", "01-03": the numbers with their leading zeroes, at most `most`. False: neither.
bool expand_range(std::string_view range, size_t most, std::vector<std::string>& to) {
  const size_t dash = std::min(range.find('-'), range.size());
  const std::string_view low = range.substr(0, dash),
                         high = dash == range.size() ? low : range.substr(dash + 1);
  uint64_t first = 0, last = 0;
  auto number = [](std::string_view text, uint64_t& value) {
    const bool fits = !text.empty() && text.size() <= kMostDigits;
    return fits &&
           std::from_chars(text.data(), text.data() + text.size(), value).ptr == text.data() + text.size();
  };
  if (!number(low, first) || !number(high, last) || first > last) return false;
  for (uint64_t n = first; n <= last && to.size() < most; n++) {
    std::string digits = std::to_string(n);
    if (digits.size() < low.size()) digits.insert(0, low.size() - digits.size(), '0');
    to.push_back(std::move(digits));
  }
  return true;
}

bool expand_bracket(std::string_view inside, size_t most, std::vector<std::string>& to) {
  for (;;) {
    const size_t comma = std::min(inside.find(','), inside.size());
    if (!expand_range(inside.substr(0, comma), most, to)) return false;
    if (comma == inside.size()) return true;
    inside.remove_prefix(comma + 1);
  }
}

// One name with any number of brackets.
bool expand_name(std::string_view name, size_t most, std::vector<std::string>& to) {
  std::vector<std::string> names{""};
  while (!name.empty()) {
    const size_t open = std::min(name.find('['), name.size());
    const std::string_view literal = name.substr(0, open);
    if (literal.find_first_of("] \t") != literal.npos) return false;
    for (std::string& n : names) n += literal;
    if (open == name.size()) break;
    const size_t close = name.find(']', open);
    std::vector<std::string> numbers;
    if (close == name.npos || !expand_bracket(name.substr(open + 1, close - open - 1), most, numbers))
      return false;
    std::vector<std::string> longer;
    for (const std::string& n : names) {
      for (size_t i = 0; i < numbers.size() && longer.size() < most; i++) longer.push_back(n + numbers[i]);
    }
    names = std::move(longer);
    name.remove_prefix(close + 1);
  }
  for (size_t i = 0; i < names.size() && to.size() < most; i++) to.push_back(std::move(names[i]));
  return true;
}

// Where the first name of a list ends: at a comma outside brackets.
size_t end_of_name(std::string_view list) {
  bool inside = false;
  for (size_t i = 0; i < list.size(); i++) {
    if (list[i] == '[') inside = true;
    if (list[i] == ']') inside = false;
    if (list[i] == ',' && !inside) return i;
  }
  return list.size();
}

}  // namespace

Result<std::vector<std::string>> expand_hosts(std::string_view list, size_t most) {
  std::vector<std::string> hosts;
  for (std::string_view rest = list; hosts.size() < most;) {
    const size_t end = end_of_name(rest);
    const std::string_view name = rest.substr(0, end);
    if (name.empty()) return wrong_list(list, "a name is missing");
    if (!expand_name(name, most, hosts))
      return wrong_list(list, "brackets hold numbers and ranges, like n[01-03,7]");
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  return hosts;
}

}  // namespace plait::bootstrap
