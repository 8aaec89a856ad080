// What a fold must give, written the slow and obvious way and sharing nothing with the kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "collectives/reduce/reduce.h"

namespace plait::collectives::reference {

struct half {
  uint16_t bits;
};
struct bfloat {
  uint16_t bits;
};

// By the definition of the format: (-1)^s * 2^(e - bias) * 1.m. A double holds every value of both exactly.
inline double value_of(uint16_t bits, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  double v;
  if (exponent == (1 << exponent_bits) - 1) {
    v = mantissa == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    v = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  } else {
    v = std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  }
  return (bits & 0x8000) != 0 ? -v : v;
}

// The nearest of the format's values, ties to the even one: divides by the distance of neighbours there,
// rounds that.
inline uint16_t bits_of(double v, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  const auto infinite = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  if (std::isnan(v)) return static_cast<uint16_t>(infinite | 1);
  v = std::fabs(v);
  if (std::isinf(v)) return static_cast<uint16_t>(sign | infinite);
  int exponent = v == 0 ? 1 - bias : std::max(std::ilogb(v), 1 - bias);
  const double units = std::nearbyint(std::ldexp(v, mantissa_bits - exponent));  // 1.m as an integer; fits
  // Where 1.m has no leading one the exponent field is 0; where it rounded up to 2.0 the carry is the next
  // exponent.
  const auto magnitude =
      static_cast<uint32_t>(units) + (static_cast<uint32_t>(exponent + bias - 1) << mantissa_bits);
  return static_cast<uint16_t>(sign | std::min<uint32_t>(magnitude, infinite));
}

inline float widen(half v) { return static_cast<float>(value_of(v.bits, 5)); }
inline float widen(bfloat v) { return static_cast<float>(value_of(v.bits, 8)); }
template <class T>
T widen(T v) {
  return v;
}
template <class T, class C>
T narrow(C v) {
  if constexpr (std::is_same_v<T, half>)
    return {bits_of(static_cast<double>(v), 5)};
  else if constexpr (std::is_same_v<T, bfloat>)
    return {bits_of(static_cast<double>(v), 8)};
  else
    return v;
}

template <class C>
C least(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    if (std::isnan(a) || std::isnan(b)) return static_cast<C>(NAN);
    if (a == 0 && b == 0) return std::signbit(a) ? a : b;
  }
  return b < a ? b : a;
}
template <class C>
C greatest(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    if (std::isnan(a) || std::isnan(b)) return static_cast<C>(NAN);
    if (a == 0 && b == 0) return std::signbit(a) ? b : a;
  }
  return a < b ? b : a;
}

template <class C>
C apply(ReduceOp op, C a, C b) {
  if (op == ReduceOp::min) return least(a, b);
  if (op == ReduceOp::max) return greatest(a, b);
  if constexpr (std::is_floating_point_v<C>) {
    return op == ReduceOp::prod ? a * b : a + b;
  } else {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<C>(op == ReduceOp::prod ? x * y : x + y);
  }
}

template <class C>
C scaled(C v, uint32_t ranks) {
  if constexpr (std::is_floating_point_v<C>)
    return v / static_cast<C>(ranks);
  else if constexpr (std::is_signed_v<C>)
    return static_cast<C>(static_cast<int64_t>(v) / static_cast<int64_t>(ranks));
  else
    return static_cast<C>(static_cast<uint64_t>(v) / ranks);
}

template <class T>
std::vector<T> fold(ReduceOp op, const std::vector<std::vector<T>>& in, uint32_t ranks) {
  std::vector<T> out(in[0].size());
  for (size_t i = 0; i < out.size(); i++) {
    auto acc = widen(in[0][i]);
    for (size_t k = 1; k < in.size(); k++) acc = apply(op, acc, widen(in[k][i]));
    if (op == ReduceOp::avg && ranks != 0) acc = scaled(acc, ranks);
    out[i] = narrow<T>(acc);
  }
  return out;
}

template <class T>
bool is_nan(T v) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(v);
  else if constexpr (std::is_same_v<T, half>)
    return (v.bits & 0x7FFF) > 0x7C00;
  else if constexpr (std::is_same_v<T, bfloat>)
    return (v.bits & 0x7FFF) > 0x7F80;
  else
    return false;
}

// Equal bits; one NaN is as good as another.
template <class T>
bool same(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0 || (is_nan(a) && is_nan(b));
}

}  // namespace plait::collectives::reference
