// Normal numbers by Marsaglia's polar method. The logarithm is ours: those of C libraries differ in the last
// bit by version and by processor.
#include <algorithm>
#include <bit>
#include <cmath>

#include "collectives/lowrank/lowrank.h"

namespace plait::collectives::lowrank {
namespace {

// The finalizer of splitmix64 over a counter.
uint64_t mix(uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// Of x > 0, normal. ln(2^e f) = e ln 2 + 2 artanh((f - 1) / (f + 1)), f near 1: ten terms are enough for a
// double.
double natural_log(double x) noexcept {
  constexpr double kLn2 = 0x1.62E42FEFA39EFp-1;
  const auto bits = std::bit_cast<uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  auto f = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFu) | 0x3FF0000000000000u);
  if (f > 1.4142135623730951) {
    f /= 2;
    exponent++;
  }
  const double s = (f - 1) / (f + 1), square = s * s;
  double series = 0;
  for (int n = 21; n >= 1; n -= 2) series = series * square + 1.0 / n;
  return exponent * kLn2 + 2 * s * series;
}

// In (-1, 1), from 32 bits: never 0.
double signed_unit(uint32_t bits) noexcept { return (double(bits) + 0.5) * 0x1p-31 - 1; }

float normal(uint64_t seed, uint64_t place) noexcept {
  const uint64_t stream = mix(mix(seed + 0x9E3779B97F4A7C15u) ^ place);
  for (uint64_t attempt = 1;; attempt++) {
    const uint64_t bits = mix(stream + attempt * 0x9E3779B97F4A7C15u);
    const double x = signed_unit(uint32_t(bits >> 32)), y = signed_unit(uint32_t(bits));
    const double s = x * x + y * y;
    if (s < 1) return static_cast<float>(x * std::sqrt(-2 * natural_log(s) / s));
  }
}

void start_column(const Shape& shape, uint64_t seed, size_t k, float* column) noexcept {
  for (size_t j = 0; j < shape.columns; j++) column[j] = normal(seed, k * shape.columns + j);
}

// Does the next call get anywhere from this column?
bool leads_on(const float* column, size_t count) noexcept {
  return std::all_of(column, column + count, [](float x) { return std::isfinite(x); }) &&
         std::any_of(column, column + count, [](float x) { return x != 0; });
}

}  // namespace

void start(const Shape& shape, uint64_t seed, float* q) noexcept {
  for (size_t k = 0; k < shape.rank; k++) start_column(shape, seed, k, q + k * shape.columns);
}

size_t revive(const Shape& shape, uint64_t seed, float* q) noexcept {
  size_t revived = 0;
  for (size_t k = 0; k < shape.rank; k++) {
    float* column = q + k * shape.columns;
    if (leads_on(column, shape.columns)) continue;
    start_column(shape, seed, k, column);
    revived++;
  }
  return revived;
}

}  // namespace plait::collectives::lowrank
