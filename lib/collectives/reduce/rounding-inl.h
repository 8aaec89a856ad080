// Between float32 and the narrower types: exact one way, to nearest even the other; NaN stays NaN both ways.
#include "base/simd_targets.h"
#include "hwy/highway.h"

#if defined(PLAIT_REDUCE_ROUNDING_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PLAIT_REDUCE_ROUNDING_INL
#undef PLAIT_REDUCE_ROUNDING_INL
#else
#define PLAIT_REDUCE_ROUNDING_INL
#endif

// Highway's emulation of float16 on the older targets loses ties, so only the hardware's conversions are
// used.
#undef PLAIT_REDUCE_HAS_F16C
#if (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3) && !defined(HWY_DISABLE_F16C)
#define PLAIT_REDUCE_HAS_F16C 1
#elif HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
#define PLAIT_REDUCE_HAS_F16C 1
#else
#define PLAIT_REDUCE_HAS_F16C 0
#endif

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if PLAIT_REDUCE_HAS_F16C

template <class D>
HWY_INLINE hn::Vec<D> widen_float16(D d, hn::Vec<hn::Rebind<uint16_t, D>> half) {
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), half));
}

template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> round_float16(D, hn::Vec<D> v) {
  return hn::BitCast(hn::Rebind<uint16_t, D>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
}

#else

// Exponent and mantissa move into place as they are, then one exact multiplication by 2^112 mends the bias
// and normalises what was subnormal. Inf and NaN get the full exponent.
template <class D>
HWY_INLINE hn::Vec<D> widen_float16(D d, hn::Vec<hn::Rebind<uint16_t, D>> half) {
  const hn::Rebind<uint32_t, D> du;
  const hn::Rebind<int32_t, D> di;
  const auto bits = hn::PromoteTo(du, half);
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFFu));
  const auto sign = hn::ShiftLeft<16>(hn::Xor(bits, magnitude));
  const auto scale = hn::BitCast(d, hn::Set(du, 0x77800000u));
  const auto value = hn::BitCast(du, hn::Mul(hn::BitCast(d, hn::ShiftLeft<13>(magnitude)), scale));
  const auto special = hn::Gt(hn::BitCast(di, magnitude), hn::Set(di, 0x7BFF));
  const auto exponent = hn::BitCast(du, hn::IfThenElseZero(special, hn::Set(di, 0x7F800000)));
  return hn::BitCast(d, hn::Or(hn::Or(value, exponent), sign));
}

// Subnormals: adding 0.5 makes the float unit round them at the right bit. Normal: add just under half a unit
// of the last place kept, plus its lowest bit for ties to even; a carry runs into the exponent, up to Inf, as
// it should.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> round_float16(D d, hn::Vec<D> v) {
  const hn::Rebind<uint32_t, D> du;
  const hn::Rebind<int32_t, D> di;
  const auto bits = hn::BitCast(du, v);
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFFFFFFu));
  const auto sign = hn::ShiftRight<16>(hn::Xor(bits, magnitude));
  const auto compared = hn::BitCast(di, magnitude);

  const auto half = hn::Set(du, 0x3F000000u);
  const auto small = hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(d, magnitude), hn::BitCast(d, half))), half);
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1u));
  const auto rebiased = hn::Add(magnitude, hn::Set(du, 0xC8000000u + 0xFFFu));
  const auto normal = hn::ShiftRight<13>(hn::Add(rebiased, odd));
  const auto special =
      hn::IfThenElse(hn::Gt(compared, hn::Set(di, 0x7F800000)), hn::Set(di, 0x7E00), hn::Set(di, 0x7C00));

  auto result = hn::IfThenElse(hn::Lt(compared, hn::Set(di, 0x38800000)), hn::BitCast(di, small),
                               hn::BitCast(di, normal));
  result = hn::IfThenElse(hn::Gt(compared, hn::Set(di, 0x477FFFFF)), special, result);
  return hn::DemoteTo(hn::Rebind<uint16_t, D>(), hn::Or(result, hn::BitCast(di, sign)));
}

#endif

// The bfloat16 nearest to v in the upper half of each word; the lower half is rubbish.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint32_t, D>> round_bfloat16(D, hn::Vec<D> v) {
  const hn::Rebind<uint32_t, D> du;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7FFFu)), odd);
  const auto quiet = hn::Or(bits, hn::Set(du, 0x00400000u));  // rounding could turn a NaN into Inf or -0
  return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), quiet, rounded);
}

// The 8-bit formats. `Largest` is the largest finite one, `Overflow` what rounding beyond it gives.
struct E4m3 {  // OCP E4M3FN: no infinities, one NaN of each sign
  static constexpr int kMantissa = 3, kBias = 7;
  static constexpr int kLargest = 0x7E, kOverflow = 0x7F, kNan = 0x7F;
};
struct E5m2 {  // as IEEE's
  static constexpr int kMantissa = 2, kBias = 15;
  static constexpr int kLargest = 0x7B, kOverflow = 0x7C, kNan = 0x7F;
};

constexpr uint32_t exponent_bits_of_float(int exponent) { return uint32_t(127 + exponent) << 23; }

// Exponent and mantissa move into place as they are and the exponent is rebiased. Subnormals get the exponent
// of the smallest normal number and lose the one that it implies: a subtraction, since multiplying subnormal
// floats is slow where it is right at all (a program may have them flushed to zero).
template <class F, class D>
HWY_INLINE hn::Vec<D> widen_float8(D d, hn::Vec<hn::Rebind<uint8_t, D>> byte) {
  const hn::Rebind<uint32_t, D> du;
  const hn::Rebind<int32_t, D> di;
  const auto bits = hn::PromoteTo(du, byte);
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7Fu));
  const auto sign = hn::ShiftLeft<24>(hn::Xor(bits, magnitude));
  const auto compared = hn::BitCast(di, magnitude);
  const auto moved = hn::ShiftLeft<23 - F::kMantissa>(magnitude);

  const auto smallest = hn::Set(du, exponent_bits_of_float(1 - F::kBias));
  const auto subnormal = hn::Sub(hn::BitCast(d, hn::Or(moved, smallest)), hn::BitCast(d, smallest));
  const auto normal = hn::BitCast(d, hn::Add(moved, hn::Set(du, uint32_t(127 - F::kBias) << 23)));
  const auto is_subnormal = hn::Lt(compared, hn::Set(di, 1 << F::kMantissa));
  const auto value = hn::BitCast(di, hn::IfThenElse(hn::RebindMask(d, is_subnormal), subnormal, normal));
  const auto special = hn::Gt(compared, hn::Set(di, F::kLargest));
  const auto exponent = hn::IfThenElseZero(special, hn::Set(di, 0x7F800000));
  return hn::BitCast(d, hn::Or(hn::Or(hn::BitCast(du, value), hn::BitCast(du, exponent)), sign));
}

// As round_float16. What overflows, infinities and NaNs among it, is larger than the largest finite number.
template <class F, class D>
HWY_INLINE hn::Vec<hn::Rebind<uint8_t, D>> round_float8(D d, hn::Vec<D> v) {
  constexpr int kDropped = 23 - F::kMantissa;
  const hn::Rebind<uint32_t, D> du;
  const hn::Rebind<int32_t, D> di;
  const auto bits = hn::BitCast(du, v);
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFFFFFFu));
  const auto sign = hn::ShiftRight<24>(hn::Xor(bits, magnitude));
  const auto compared = hn::BitCast(di, magnitude);

  // In its unit the last place is that of the smallest subnormal number.
  const auto unit = hn::Set(du, exponent_bits_of_float(1 - F::kBias + kDropped));
  const auto small = hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(d, magnitude), hn::BitCast(d, unit))), unit);
  const auto odd = hn::And(hn::ShiftRight<kDropped>(magnitude), hn::Set(du, 1u));
  const auto rounded = hn::Add(hn::Add(magnitude, hn::Set(du, (1u << (kDropped - 1)) - 1)), odd);
  const auto normal =
      hn::Sub(hn::ShiftRight<kDropped>(rounded), hn::Set(du, uint32_t(127 - F::kBias) << F::kMantissa));

  const auto is_small = hn::Lt(compared, hn::Set(di, int32_t(exponent_bits_of_float(1 - F::kBias))));
  auto result = hn::IfThenElse(is_small, hn::BitCast(di, small), hn::BitCast(di, normal));
  result = hn::Min(result, hn::Set(di, F::kOverflow));
  const auto is_nan = hn::Gt(compared, hn::Set(di, 0x7F800000));
  result = hn::IfThenElse(is_nan, hn::Set(di, F::kNan), result);
  return hn::DemoteTo(hn::Rebind<uint8_t, D>(), hn::Or(result, hn::BitCast(di, sign)));
}

}  // namespace plait::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
