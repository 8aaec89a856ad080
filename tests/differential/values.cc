#include "differential/values.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace plait::differential {
namespace {

// splitmix64
uint64_t mixed(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

struct Format {
  int fraction_bits, bias;
};

Format format_of(const perf::Dtype& dtype) {
  switch (dtype.id) {
    case PLAIT_FLOAT8_E4M3:
      return {3, 7};
    case PLAIT_FLOAT8_E5M2:
      return {2, 15};
    case PLAIT_FLOAT16:
      return {10, 15};
    case PLAIT_BFLOAT16:
      return {7, 127};
    case PLAIT_FLOAT32:
      return {23, 127};
    default:
      return {52, 1023};
  }
}

}  // namespace

void store_value(const perf::Dtype& dtype, uint64_t seed, int rank, size_t index, std::byte* to) {
  const uint64_t bits = mixed(mixed(seed ^ uint64_t(rank) << 48) ^ index);
  if (!dtype.is_float) return perf::store_bits(dtype, bits, to);
  const double size = 0.5 + double(bits >> 12) * 0x1p-53;
  perf::store_float(dtype, bits & 1 ? -size : size, to);
}

double load_float(const perf::Dtype& dtype, const std::byte* from) {
  if (dtype.id == PLAIT_FLOAT64) {
    double value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  uint32_t bits = 0;
  std::memcpy(&bits, from, dtype.size);
  const Format f = format_of(dtype);
  const int sign_at = int(dtype.size) * 8 - 1;
  const uint32_t fraction = bits & ((1u << f.fraction_bits) - 1);
  const int exponent = int((bits & ((1u << sign_at) - 1)) >> f.fraction_bits);
  // No infinities, no NaN: values are such that none comes up, and one that did would be far from what it
  // should be.
  const double size =
      exponent == 0 ? std::ldexp(fraction, 1 - f.bias - f.fraction_bits)
                    : std::ldexp(fraction + (1u << f.fraction_bits), exponent - f.bias - f.fraction_bits);
  return bits >> sign_at & 1 ? -size : size;
}

double unit_roundoff(const perf::Dtype& dtype) { return std::ldexp(1, -1 - format_of(dtype).fraction_bits); }

double error_bound(const perf::Dtype& dtype, int n, double magnitude) {
  const Format f = format_of(dtype);
  const double u = unit_roundoff(dtype), rounds = n + 1;
  const double relative = std::expm1(rounds * std::log1p(u));  // (1 + u)^rounds - 1, which 1 + u would lose
  return magnitude * relative + rounds * std::ldexp(1, -f.bias - f.fraction_bits);
}

}  // namespace plait::differential
