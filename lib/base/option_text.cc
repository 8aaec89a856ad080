#include "base/option_text.h"

#include <charconv>

namespace plait {

std::optional<uint64_t> option_number(std::string_view text, uint64_t least, uint64_t most) noexcept {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return std::nullopt;
  int shift = 0;
  if (const std::string_view unit(stop, size_t(end - stop)); !unit.empty()) {
    const size_t which = std::string_view("KMG").find(unit);
    if (unit.size() != 1 || which == std::string_view::npos) return std::nullopt;
    shift = 10 * (int(which) + 1);
  }
  if (value > (UINT64_MAX >> shift)) return std::nullopt;
  value <<= shift;
  return value < least || value > most ? std::nullopt : std::optional(value);
}

bool take_option(std::string_view text, bool& to) noexcept {
  to = text == "1";
  return text == "0" || text == "1";
}

Status wrong_option(std::string_view pair, std::string_view why, std::string_view keys) {
  return {Code::invalid, "the option \"" + std::string(pair) + "\" " + std::string(why) +
                             ": there are (with + between) " + std::string(keys)};
}

}  // namespace plait
