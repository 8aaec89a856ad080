// The loops of onebit for one instruction set.
#include "collectives/codec/blocks-inl.h"

#if defined(PLAIT_CODEC_SIGNS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PLAIT_CODEC_SIGNS_INL
#undef PLAIT_CODEC_SIGNS_INL
#else
#define PLAIT_CODEC_SIGNS_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::HWY_NAMESPACE {

// Vectors that together have a byte of signs, or that have several.
constexpr size_t kSignFloats = HWY_MIN(kFloats, size_t(8));
using Signed = hn::CappedTag<float, kSignFloats>;
constexpr size_t kVectorsAByte = 8 / kSignFloats;

// As many lanes on every processor, in more or fewer vectors.
using Doubles = hn::CappedTag<double, HWY_LANES(double)>;
constexpr size_t kDoubles = HWY_LANES(double), kSums = codec::SignedSums::kLanes / kDoubles;

inline void sum_signed(const float* values, size_t count, codec::SignedSums& sums) noexcept {
  const Doubles d;
  const hn::Rebind<float, Doubles> df;
  hn::Vec<Doubles> above[kSums], below[kSums], negatives[kSums];
  for (size_t v = 0; v < kSums; v++) above[v] = below[v] = negatives[v] = hn::Zero(d);
  size_t i = 0;
  for (; i + codec::SignedSums::kLanes <= count; i += codec::SignedSums::kLanes) {
    for (size_t v = 0; v < kSums; v++) {
      const auto x = hn::PromoteTo(d, get(df, values + i + v * kDoubles));
      const auto negative = hn::Lt(x, hn::Zero(d));
      above[v] = hn::Add(above[v], hn::IfThenZeroElse(negative, x));
      below[v] = hn::Add(below[v], hn::IfThenElseZero(negative, x));
      negatives[v] = hn::Add(negatives[v], hn::IfThenElseZero(negative, hn::Set(d, 1.0)));
    }
  }
  for (size_t v = 0; v < kSums; v++) {
    hn::StoreU(above[v], d, sums.above + v * kDoubles);
    hn::StoreU(below[v], d, sums.below + v * kDoubles);
    hn::StoreU(negatives[v], d, sums.negatives + v * kDoubles);
  }
  for (; i < count; i++) {
    (values[i] < 0 ? sums.below : sums.above)[0] += double(values[i]);
    sums.negatives[0] += values[i] < 0;
  }
}

inline void take_signs(float* values, size_t count, float above, float below, bool keep,
                       std::byte* bits) noexcept {
  const Signed d;
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint32_t byte = 0;
    for (size_t v = 0; v < kVectorsAByte; v++) {
      float* at = values + i + v * kSignFloats;
      const auto x = hn::LoadU(d, at);
      const auto negative = hn::Lt(x, hn::Zero(d));
      uint8_t few[8] = {};
      (void)hn::StoreMaskBits(d, negative, few);
      byte |= uint32_t(few[0]) << (v * kSignFloats);
      const auto left = hn::Sub(x, hn::IfThenElse(negative, hn::Set(d, below), hn::Set(d, above)));
      hn::StoreU(keep ? left : hn::Zero(d), d, at);
    }
    bits[i / 8] = std::byte(byte);
  }
  if (i == count) return;
  uint32_t byte = 0;
  for (size_t k = i; k < count; k++) {
    const bool negative = values[k] < 0;
    byte |= uint32_t(negative) << (k - i);
    values[k] = keep ? values[k] - (negative ? below : above) : 0;
  }
  bits[i / 8] = std::byte(byte);
}

inline void give_signs(const std::byte* bits, size_t count, float above, float below, float* values,
                       bool add) noexcept {
  const Signed d;
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (size_t v = 0; v < kVectorsAByte; v++) {
      const uint8_t few[8] = {uint8_t(uint32_t(bits[i / 8]) >> (v * kSignFloats))};
      const auto negative = hn::LoadMaskBits(d, few);
      const auto x = hn::IfThenElse(negative, hn::Set(d, below), hn::Set(d, above));
      float* at = values + i + v * kSignFloats;
      hn::StoreU(add ? hn::Add(hn::LoadU(d, at), x) : x, d, at);
    }
  }
  for (; i < count; i++) {
    const float x = (uint32_t(bits[i / 8]) >> (i % 8) & 1) != 0 ? below : above;
    values[i] = add ? values[i] + x : x;
  }
}

}  // namespace plait::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
