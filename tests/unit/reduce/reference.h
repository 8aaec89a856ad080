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
struct e4m3 {
  uint8_t bits;
};
struct e5m2 {
  uint8_t bits;
};
template <class T>
constexpr bool kQuarter = std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2>;
// Types whose values are bits to everybody but this file.
template <class T>
constexpr bool kNarrow = std::is_same_v<T, half> || std::is_same_v<T, bfloat> || kQuarter<T>;

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

// The 8-bit formats by their tables: the magnitudes from 0 to the first one that is not finite, as what it
// would be if it were.
inline const std::vector<double>& magnitudes(e4m3 /*of*/) {
  static const auto kAll = [] {
    std::vector<double> all;
    for (int bits = 0; bits <= 0x7F; bits++) {
      const int e = bits >> 3, m = bits & 7;
      all.push_back(e == 0 ? m / 512.0 : (8 + m) / 8.0 * std::exp2(e - 7));
    }
    return all;
  }();
  return kAll;
}
inline const std::vector<double>& magnitudes(e5m2 /*of*/) {
  static const auto kAll = [] {
    std::vector<double> all;
    for (int bits = 0; bits <= 0x7C; bits++) {
      const int e = bits >> 2, m = bits & 3;
      all.push_back(e == 0 ? m / 65536.0 : (4 + m) / 4.0 * std::exp2(e - 15));
    }
    return all;
  }();
  return kAll;
}

template <class T>
requires kQuarter<T>
float widen(T v) {
  const auto& all = magnitudes(v);
  const size_t at = v.bits & 0x7F, infinite = std::is_same_v<T, e5m2> ? 0x7C : 0x100;
  const double size = at == infinite ? INFINITY : at + 1 >= all.size() ? NAN : all[at];
  return static_cast<float>((v.bits & 0x80) != 0 ? -size : size);
}

// The nearest entry of the table; halfway the even one.
template <class T>
T nearest(double v) {
  const auto& all = magnitudes(T{});
  const int sign = std::signbit(v) ? 0x80 : 0;
  if (std::isnan(v)) return {0x7F};
  const double size = std::fabs(v);
  const auto above = std::lower_bound(all.begin(), all.end(), size);
  auto at = static_cast<int>(above - all.begin());
  if (above == all.end()) {
    at--;
  } else if (at > 0) {
    const double down = size - all[static_cast<size_t>(at) - 1], up = *above - size;
    if (down < up || (down == up && at % 2 == 1)) at--;
  }
  return {static_cast<uint8_t>(sign | at)};
}

inline float widen(half v) { return static_cast<float>(value_of(v.bits, 5)); }
inline float widen(bfloat v) { return static_cast<float>(value_of(v.bits, 8)); }
template <class T>
requires(!kNarrow<T>) T widen(T v) { return v; }
template <class T, class C>
T narrow(C v) {
  if constexpr (std::is_same_v<T, half>)
    return {bits_of(static_cast<double>(v), 5)};
  else if constexpr (std::is_same_v<T, bfloat>)
    return {bits_of(static_cast<double>(v), 8)};
  else if constexpr (kQuarter<T>)
    return nearest<T>(static_cast<double>(v));
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
  const bool divides = op == ReduceOp::avg && ranks != 0;
  // Averages of bfloat16 may not overflow before they are divided.
  using Sum = decltype(widen(T{}));
  const auto unit = std::is_same_v<T, bfloat> && divides ? static_cast<Sum>(0x1p-16) : Sum{1};
  for (size_t i = 0; i < out.size(); i++) {
    auto acc = static_cast<Sum>(widen(in[0][i]) * unit);
    for (size_t k = 1; k < in.size(); k++) acc = apply(op, acc, static_cast<Sum>(widen(in[k][i]) * unit));
    if (divides && std::is_same_v<T, bfloat>)
      acc = static_cast<Sum>(acc / (static_cast<Sum>(ranks) * unit));
    else if (divides)
      acc = scaled(acc, ranks);
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
  else if constexpr (kQuarter<T>)
    return std::isnan(widen(v));
  else
    return false;
}

// Equal bits; one NaN is as good as another.
template <class T>
bool same(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0 || (is_nan(a) && is_nan(b));
}

}  // namespace plait::collectives::reference
