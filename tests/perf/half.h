// The numbers that 16-bit floats stand for, computed in another way than the code under test does it.
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

}  // namespace plait::perf
