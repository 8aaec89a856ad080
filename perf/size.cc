#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "perf/options.h"

namespace plait::perf {

std::optional<size_t> parse_size(const std::string& text) {
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0]))) return std::nullopt;
  size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  double number = std::strtod(text.substr(0, digits).c_str(), nullptr);
  const char* end = text.c_str() + digits;
  double unit = 1;
  switch (std::toupper(static_cast<unsigned char>(*end))) {
    case 'K':
      unit = 0x1p10;
      break;
    case 'M':
      unit = 0x1p20;
      break;
    case 'G':
      unit = 0x1p30;
      break;
    case 'T':
      unit = 0x1p40;
      break;
    default:
      break;
  }
  if (unit > 1) ++end;
  if (unit > 1 && *end == 'i') ++end;
  if (*end == 'B' || *end == 'b') ++end;
  double bytes = number * unit;
  if (*end != '\0' || !(bytes < 0x1p53) || bytes != std::floor(bytes)) return std::nullopt;
  return size_t(bytes);
}

}  // namespace plait::perf
