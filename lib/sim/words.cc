#include "sim/words.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

namespace plait::sim {

namespace {

bool digit(char c) { return (c >= '0' && c <= '9') || c == '.'; }
bool space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ','; }

// A unit's size: a prefix and `base`, such as "us" or "GB/s".
double unit(std::string_view word, std::string_view base, std::string_view prefixes, std::string_view& left) {
  left = word;
  if (!word.ends_with(base)) return 0;
  word.remove_suffix(base.size());
  if (word.empty()) return 1;
  if (word.size() != 1 || prefixes.find(word[0]) == std::string_view::npos) return 0;
  constexpr std::pair<char, double> kSizes[] = {{'n', 1e-9}, {'u', 1e-6}, {'m', 1e-3}, {'k', 1e3},
                                                {'K', 1e3},  {'M', 1e6},  {'G', 1e9},  {'T', 1e12}};
  for (auto [letter, size] : kSizes)
    if (letter == word[0]) return size;
  return 0;
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr size_t kMost = 100;
  std::string out(text.substr(0, kMost));
  for (char& c : out)
    if (c < ' ' || c > '~') c = c == '\n' || c == '\t' ? ' ' : '?';
  return text.size() > kMost ? out + "..." : out;
}

Words::Words(std::string_view text) : text_(text) {
  for (size_t i = 0; i < text.size();) {
    if (space(text[i])) {
      i++;
      continue;
    }
    const size_t begin = i;
    const bool number = digit(text[i]);
    while (i < text.size() && !space(text[i]) && digit(text[i]) == number) {
      if (number && i + 1 < text.size() && (text[i + 1] == 'e' || text[i + 1] == 'E') &&
          i + 2 < text.size() && (text[i + 2] == '-' || digit(text[i + 2])))
        i += 2;
      i++;
    }
    all_.push_back({std::string(text.substr(begin, i - begin)), number, begin});
  }
}

bool Words::skip(std::string_view word) {
  if (done() || all_[next_].text != word) return false;
  next_++;
  return true;
}

Result<double> Words::take_number(double most) {
  if (!number()) return Status(Code::invalid, fmt::format("'{}' where a number is expected", shown(peek())));
  const std::string text = take();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value <= 0 ||
      value > most)
    return Status(Code::invalid, fmt::format("'{}' is no number above 0 and up to {:g}", shown(text), most));
  return value;
}

Result<int> Words::take_count(int64_t most) {
  const std::string text = peek();
  auto value = take_number(double(most));
  if (!value.ok()) return value.status();
  if (*value != std::floor(*value))
    return Status(Code::invalid, fmt::format("'{}' is no whole number", shown(text)));
  return int(*value);
}

Result<double> Words::take_rate() {
  auto value = take_number(1e12);
  if (!value.ok()) return value;
  const std::string word = peek();
  (void)take();
  std::string_view left;
  if (const double bits = unit(word, "b/s", "kKMGT", left); bits > 0) return *value * bits / 8;
  if (const double bytes = unit(word, "B/s", "kKMGT", left); bytes > 0) return *value * bytes;
  return Status(Code::invalid,
                fmt::format("'{}' is no rate, such as Gb/s (bits) or GB/s (bytes)", shown(word)));
}

Result<double> Words::take_time() {
  auto value = take_number(1e12);
  if (!value.ok()) return value;
  const std::string word = peek();
  (void)take();
  std::string_view left;
  if (const double seconds = unit(word, "s", "num", left); seconds > 0) return *value * seconds;
  return Status(Code::invalid, fmt::format("'{}' is no time, such as us or ms", shown(word)));
}

std::string Words::rest() const { return done() ? "" : text_.substr(all_[next_].at); }

Result<uint64_t> read_size(std::string_view text) {
  Words words(text);
  auto value = words.take_number(0x1p60);
  if (!value.ok()) return text == "0" ? Result<uint64_t>(uint64_t{0}) : Result<uint64_t>(value.status());
  std::string unit = words.take();
  int shift = -1;
  for (std::string_view tail : {"iB", "B", "i"})
    if (unit.size() > tail.size() && unit.ends_with(tail)) unit.resize(unit.size() - tail.size());
  if (unit.empty() || unit == "B") shift = 0;
  if (unit == "K" || unit == "k") shift = 10;
  if (unit == "M") shift = 20;
  if (unit == "G") shift = 30;
  if (shift < 0 || !words.done())
    return Status(Code::invalid, fmt::format("'{}' is no size, such as 64K, 256M or 1G", shown(text)));
  return uint64_t(*value * double(uint64_t{1} << shift));
}

Result<double> read_time(std::string_view text) {
  Words words(text);
  auto time = words.take_time();
  if (time.ok() && !words.done()) return Status(Code::invalid, fmt::format("'{}' is no time", shown(text)));
  return time;
}

}  // namespace plait::sim
