// The numbers that 16-bit and 8-bit floats stand for, computed in another way than the code under test does
// it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace plait::perf {

inline double float16_value(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 0x3ff;
  double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

inline double bfloat16_value(uint16_t bits) { return double(std::bit_cast<float>(uint32_t(bits) << 16)); }

// The upper half of a float16; NaN where it has infinities or NaNs.
inline double float8_e5m2_value(uint8_t bits) {
  return (bits & 0x7c) == 0x7c ? NAN : float16_value(uint16_t(bits << 8));
}

inline double float8_e4m3_value(uint8_t bits) {
  int exponent = (bits >> 3) & 15, fraction = bits & 7;
  if ((bits & 0x7f) == 0x7f) return NAN;
  double size = exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(fraction + 8, exponent - 10);
  return (bits & 0x80) != 0 ? -size : size;
}

}  // namespace plait::perf
