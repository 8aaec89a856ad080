// What a fold does to two vectors. Compiled once for each instruction set.
#include <type_traits>

#include "base/simd_targets.h"
#include "hwy/highway.h"

#if defined(PLAIT_REDUCE_OPERATORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PLAIT_REDUCE_OPERATORS_INL
#undef PLAIT_REDUCE_OPERATORS_INL
#else
#define PLAIT_REDUCE_OPERATORS_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Highway's Min and Max are the instructions of x86 there; on Arm and without vectors they drop NaNs.
#undef PLAIT_MIN_KEEPS_NANS
#define PLAIT_MIN_KEEPS_NANS (HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR)

// The smaller of two; where they are equal or unordered either one, but which one depends on their order
// alone.
template <class V>
HWY_INLINE V either_min(V a, V b) {
#if PLAIT_MIN_KEEPS_NANS
  return hn::Min(a, b);
#else
  return hn::IfThenElse(hn::Lt(a, b), a, b);
#endif
}

template <class V>
HWY_INLINE V either_max(V a, V b) {
#if PLAIT_MIN_KEEPS_NANS
  return hn::Max(a, b);
#else
  return hn::IfThenElse(hn::Lt(b, a), a, b);
#endif
}

struct Sum {
  template <class V>
  static HWY_INLINE V call(V a, V b) {
    return hn::Add(a, b);
  }
};

// There is no multiplication of bytes: 16-bit lanes multiply the low bytes and the high bytes.
template <class V>
HWY_INLINE V multiplied_bytes(V a, V b) {
  const hn::DFromV<V> d;
  if constexpr (hn::MaxLanes(d) == 1) {
    return hn::Set(d, static_cast<uint8_t>(uint32_t{hn::GetLane(a)} * uint32_t{hn::GetLane(b)}));
  } else {
    const hn::Repartition<uint16_t, decltype(d)> d16;
    const auto x = hn::BitCast(d16, a);
    const auto y = hn::BitCast(d16, b);
    const auto low = hn::And(hn::Mul(x, y), hn::Set(d16, 0x00FF));
    const auto high = hn::ShiftLeft<8>(hn::Mul(hn::ShiftRight<8>(x), hn::ShiftRight<8>(y)));
    return hn::BitCast(d, hn::Or(low, high));
  }
}

struct Prod {
  template <class V>
  static HWY_INLINE V call(V a, V b) {
    if constexpr (sizeof(hn::TFromV<V>) == 1)
      return multiplied_bytes(a, b);
    else
      return hn::Mul(a, b);
  }
};

// Floats: asked in both orders, the hardware's minimum gives both operands when they are zeros or one is NaN.
// The union of the bits is then -0 if either is, and NaN if either is; otherwise both answers are the same
// bits.
struct Min {
  template <class V>
  static HWY_INLINE V call(V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) return hn::Or(either_min(a, b), either_min(b, a));
    return hn::Min(a, b);
  }
};

// As Min; where only the signs of zeros differ the difference is -0, and -0 - -0 is +0.
struct Max {
  template <class V>
  static HWY_INLINE V call(V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
      const V x = either_max(a, b);
      const V y = either_max(b, a);
      return hn::Sub(hn::Or(x, y), hn::Xor(x, y));
    }
    return hn::Max(a, b);
  }
};

// x / ranks truncated. Through the next wider float where that is exact, because it vectorises: a quotient
// just below an integer stays below it (the gap, 1 / ranks, is wider than half a unit in the last place of
// any quotient above 1).
template <class T>
HWY_INLINE T divided(T x, uint32_t ranks) {
  if constexpr (sizeof(T) == 1) return static_cast<T>(static_cast<float>(x) / static_cast<float>(ranks));
  if constexpr (sizeof(T) == 4) return static_cast<T>(static_cast<double>(x) / static_cast<double>(ranks));
  return static_cast<T>(x / static_cast<T>(ranks));
}

// The lanes of v, taken as Ts, divided by ranks, which floats take with a fraction, too.
template <class T, class D, class R>
HWY_INLINE hn::Vec<D> divide(D d, hn::Vec<D> v, R ranks) {
  if constexpr (hwy::IsFloat<T>()) {
    return hn::Div(v, hn::Set(d, static_cast<T>(ranks)));
  } else {
    HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)];
    hn::Store(v, d, lanes);
    for (auto& lane : lanes) lane = static_cast<hn::TFromD<D>>(divided(static_cast<T>(lane), ranks));
    return hn::Load(d, lanes);
  }
}

}  // namespace plait::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
