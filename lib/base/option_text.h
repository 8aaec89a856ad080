// Options as text: pairs KEY=VALUE with a plus between, each key once. (A plus, since & would be the
// shell's.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace plait {

template <class Options>
struct OptionKey {
  std::string_view name, values;  // `values`: for people, "1 to 4"
  // False: `text` makes no sense.
  bool (*take)(std::string_view text, Options& to);
};

// A whole number, with K, M or G behind it times 2^10, 2^20 or 2^30.
std::optional<uint64_t> option_number(std::string_view text, uint64_t least, uint64_t most) noexcept;
// The same, into any whole number that has room for `most`.
template <class T>
bool take_option(std::string_view text, uint64_t least, uint64_t most, T& to) noexcept {
  const auto value = option_number(text, least, most);
  if (value) to = T(*value);
  return value.has_value();
}
// "0" or "1".
bool take_option(std::string_view text, bool& to) noexcept;

// Code::invalid: what is wrong with `pair`, and `keys`, all there are.
Status wrong_option(std::string_view pair, std::string_view why, std::string_view keys);

// Changes of `to` what the text names. Code::invalid says what is wrong, and which keys there are; there are
// 64 at most.
template <class Options>
Status parse_options(std::string_view text, std::span<const OptionKey<Options>> keys, Options& to) {
  std::string all;
  for (const auto& key : keys)
    all += (all.empty() ? "" : "; ") + std::string(key.name) + "= " + std::string(key.values);
  uint64_t seen = 0;
  while (true) {
    const size_t plus = text.find('+');
    const std::string_view pair = text.substr(0, plus);
    const size_t equal = pair.find('=');
    const auto key = std::ranges::find(keys, pair.substr(0, equal), &OptionKey<Options>::name);
    if (equal == pair.npos || key == keys.end()) return wrong_option(pair, "is none", all);
    const uint64_t bit = uint64_t{1} << (key - keys.begin());
    if ((seen & bit) != 0) return wrong_option(pair, "is there twice", all);
    seen |= bit;
    if (!key->take(pair.substr(equal + 1), to)) return wrong_option(pair, "makes no sense", all);
    if (plus == text.npos) return {};
    text.remove_prefix(plus + 1);
  }
}

}  // namespace plait
