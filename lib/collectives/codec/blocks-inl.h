// The loops of codecs for one instruction set.
#include <cmath>
#include <cstring>
#include <limits>

#include "collectives/codec/kernels.h"
#include "collectives/reduce/rounding-inl.h"

#if defined(PLAIT_CODEC_BLOCKS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PLAIT_CODEC_BLOCKS_INL
#undef PLAIT_CODEC_BLOCKS_INL
#else
#define PLAIT_CODEC_BLOCKS_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::HWY_NAMESPACE {

using Floats = hn::CappedTag<float, HWY_LANES(float)>;
using One = hn::CappedTag<float, 1>;
constexpr size_t kFloats = HWY_LANES(float);

// ---- formats of one number each: load<D>(at) as floats, store<D>(floats, at)

template <class T>
HWY_INLINE const T* at(const std::byte* p, size_t i) {
  return reinterpret_cast<const T*>(p) + i;
}
template <class T>
HWY_INLINE T* at(std::byte* p, size_t i) {
  return reinterpret_cast<T*>(p) + i;
}

// Loads and stores of one lane: some of Highway's read through the pointer, which may be misaligned.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> get(D d, const T* from) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    T lane;
    std::memcpy(&lane, from, sizeof lane);
    return hn::Set(d, lane);
  } else {
    return hn::LoadU(d, from);
  }
}
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void put(D d, hn::Vec<D> v, T* to) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    const T lane = hn::GetLane(v);
    std::memcpy(to, &lane, sizeof lane);
  } else {
    hn::StoreU(v, d, to);
  }
}

struct Half {
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::byte* from, size_t i) {
    return widen_float16(d, get(hn::Rebind<uint16_t, D>(), at<uint16_t>(from, i)));
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, std::byte* to, size_t i) {
    put(hn::Rebind<uint16_t, D>(), round_float16(d, v), at<uint16_t>(to, i));
  }
};
struct Bfloat {
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::byte* from, size_t i) {
    const hn::Rebind<uint32_t, D> du;
    const auto bits = hn::PromoteTo(du, get(hn::Rebind<uint16_t, D>(), at<uint16_t>(from, i)));
    return hn::BitCast(d, hn::ShiftLeft<16>(bits));
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, std::byte* to, size_t i) {
    const hn::Rebind<uint16_t, D> half;
    const auto bits = hn::ShiftRight<16>(round_bfloat16(d, v));
    // Through signed numbers, which Highway narrows by saturation: bits are below 2^16.
    put(half, hn::TruncateTo(half, bits), at<uint16_t>(to, i));
  }
};
template <class Format>
struct Quarter {
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::byte* from, size_t i) {
    return widen_float8<Format>(d, get(hn::Rebind<uint8_t, D>(), at<uint8_t>(from, i)));
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, std::byte* to, size_t i) {
    put(hn::Rebind<uint8_t, D>(), round_float8<Format>(d, v), at<uint8_t>(to, i));
  }
};

// f(d, i): for vectors of values from i on, the last ones one by one.
template <class F>
HWY_INLINE void each(size_t count, F f) {
  size_t i = 0;
  for (; i + kFloats <= count; i += kFloats) f(Floats(), i);
  for (; i < count; i++) f(One(), i);
}

template <class Format>
void widen(const std::byte* from, float* to, size_t count) noexcept {
  each(count, [&](auto d, size_t i) { put(d, Format::load(d, from, i), to + i); });
}
template <class Format>
void narrow(const float* from, std::byte* to, size_t count) noexcept {
  each(count, [&](auto d, size_t i) { Format::store(d, get(d, from + i), to, i); });
}
inline void add_floats(const float* values, float* sum, size_t count) noexcept {
  each(count, [&](auto d, size_t i) { put(d, hn::Add(get(d, sum + i), get(d, values + i)), sum + i); });
}

// Few of many: most vectors hold none.
template <bool Adds>
size_t collect_sums(const float* values, float* sums, size_t count, uint32_t least,
                    uint32_t* places) noexcept {
  size_t found = 0;
  each(count, [&](auto d, size_t i) {
    const hn::Rebind<int32_t, decltype(d)> di;  // magnitudes have no sign bit, so they compare as numbers
    auto x = get(d, sums + i);
    if constexpr (Adds) {
      x = hn::Add(x, get(d, values + i));
      put(d, x, sums + i);
    }
    const auto bits = hn::BitCast(di, hn::Abs(x));
    const auto is_large = hn::Gt(bits, hn::Set(di, int32_t(least) - 1));
    if (hn::AllFalse(di, is_large)) return;
    constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
    for (size_t k = 0; k < kLanes; k++) {
      uint32_t one;
      std::memcpy(&one, sums + i + k, sizeof one);
      places[found] = uint32_t(i + k);
      found += (one & 0x7fffffffu) >= least;
    }
  });
  return found;
}
inline size_t collect(const float* values, float* sums, size_t count, uint32_t least,
                      uint32_t* places) noexcept {
  return values == nullptr ? collect_sums<false>(values, sums, count, least, places)
                           : collect_sums<true>(values, sums, count, least, places);
}

// ---- blocks

// Uniform in [0, 1), of the number of the value and the key alone (a bijection of 32-bit words that mixes
// well).
template <class D>
HWY_INLINE hn::Vec<D> draw(D d, uint32_t key, uint32_t number) {
  const hn::Rebind<uint32_t, D> du;
  auto x = hn::Xor(hn::Add(hn::Iota(du, 0), hn::Set(du, number)), hn::Set(du, key));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(du, 0x21f0aaadu));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(du, 0xd35a2d97u));
  x = hn::Xor(x, hn::ShiftRight<15>(x));
  return hn::Mul(hn::ConvertTo(d, hn::BitCast(hn::Rebind<int32_t, D>(), hn::ShiftRight<8>(x))),
                 hn::Set(d, 0x1p-24f));
}

// The largest magnitude of a block; infinite, if one is infinite or no number.
HWY_INLINE float largest(const float* values, size_t count) {
  const hn::Rebind<uint32_t, Floats> du;
  const auto magnitude = hn::Set(du, 0x7fffffffu);
  auto bits_at = [&](size_t i) { return hn::And(hn::BitCast(du, get(Floats(), values + i)), magnitude); };
  auto a = hn::Zero(du), b = a, c = a, d = a;  // which do not wait for each other
  size_t i = 0;
  for (; i + 4 * kFloats <= count; i += 4 * kFloats) {
    a = hn::Max(a, bits_at(i));
    b = hn::Max(b, bits_at(i + kFloats));
    c = hn::Max(c, bits_at(i + 2 * kFloats));
    d = hn::Max(d, bits_at(i + 3 * kFloats));
  }
  for (; i + kFloats <= count; i += kFloats) a = hn::Max(a, bits_at(i));
  uint32_t bits = hn::GetLane(hn::MaxOfLanes(du, hn::Max(hn::Max(a, b), hn::Max(c, d))));
  for (; i < count; i++) {
    uint32_t one;
    std::memcpy(&one, values + i, sizeof one);
    bits = HWY_MAX(bits, one & 0x7fffffffu);
  }
  float result;
  bits = HWY_MIN(bits, 0x7f800000u);
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

// Integers -kLimit..kLimit, which take 8 / kPerByte bits.
template <int Limit, size_t PerByte>
struct Integers {
  static constexpr size_t kPerByte = PerByte;

  // What a block is multiplied by to be encoded; its scale, which it is multiplied by to be decoded.
  static HWY_INLINE float factor(float most, float* scale) {
    constexpr float kLimit = float(Limit);
    *scale = most / kLimit;
    if (*scale * kLimit > std::numeric_limits<float>::max()) *scale = std::nextafterf(*scale, 0);
    return kLimit / most;
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> finite(D, hn::Vec<D> v) {
    return v;
  }
  // Nearest: what is scaled is beyond the limit by rounding errors alone, which the next rounding takes away.
  template <bool Nearest, class D>
  static HWY_INLINE hn::Vec<hn::Rebind<int32_t, D>> round(D d, hn::Vec<D> v, const codec::Blocks& of,
                                                          size_t i) {
    if constexpr (!Nearest) {
      const auto limit = hn::Set(d, float(Limit));
      v = hn::Floor(hn::Add(v, draw(d, uint32_t(of.seed ^ of.seed >> 32), uint32_t(of.first + i))));
      v = hn::Max(hn::Min(v, limit), hn::Neg(limit));
    }
    return hn::NearestInt(v);
  }
};

struct Int8 : Integers<127, 1> {
  template <bool Nearest, class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, const codec::Blocks& of, std::byte* to, size_t i) {
    const hn::Rebind<int8_t, D> bytes;
    put(bytes, hn::DemoteTo(bytes, round<Nearest>(d, v, of, i)), at<int8_t>(to, i));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::byte* from, size_t i) {
    const auto bytes = get(hn::Rebind<int8_t, D>(), at<int8_t>(from, i));
    return hn::ConvertTo(d, hn::PromoteTo(hn::Rebind<int32_t, D>(), bytes));
  }
};

// Two a byte, the first one in the low half. Eight go in and out of a word by moving halves together, and
// apart.
struct Int4 : Integers<7, 2> {
  static HWY_INLINE uint32_t packed(uint64_t eight) {
    eight &= 0x0f0f0f0f0f0f0f0fu;
    eight = (eight | eight >> 4) & 0x00ff00ff00ff00ffu;
    eight = (eight | eight >> 8) & 0x0000ffff0000ffffu;
    return uint32_t(eight | eight >> 16);
  }
  static HWY_INLINE uint64_t unpacked(uint32_t four) {
    uint64_t eight = four;
    eight = (eight | eight << 16) & 0x0000ffff0000ffffu;
    eight = (eight | eight << 8) & 0x00ff00ff00ff00ffu;
    return (eight | eight << 4) & 0x0f0f0f0f0f0f0f0fu;
  }

  template <bool Nearest, class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, const codec::Blocks& of, std::byte* to, size_t i) {
    const hn::Rebind<int8_t, D> bytes;
    constexpr size_t kLanes = hn::MaxLanes(D());
    uint64_t words[HWY_MAX(kLanes / 8, size_t(1))] = {};
    put(bytes, hn::DemoteTo(bytes, round<Nearest>(d, v, of, i)), reinterpret_cast<int8_t*>(words));
    if constexpr (kLanes == 1) {
      const auto bits = uint8_t(words[0] & 15u);
      auto* out = at<uint8_t>(to, i / 2);
      *out = i % 2 == 0 ? bits : uint8_t(*out | bits << 4);
    } else {
      for (size_t k = 0; k < kLanes; k += 8) {
        const uint32_t four = packed(words[k / 8]);
        std::memcpy(to + (i + k) / 2, &four, HWY_MIN(kLanes / 2, size_t(4)));
      }
    }
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::byte* from, size_t i) {
    const hn::Rebind<int32_t, D> di;
    constexpr size_t kLanes = hn::MaxLanes(D());
    uint64_t words[HWY_MAX(kLanes / 8, size_t(1))];
    if constexpr (kLanes == 1) {
      words[0] = uint32_t(from[i / 2]) >> (i % 2 * 4) & 15u;
    } else {
      for (size_t k = 0; k < kLanes; k += 8) {
        uint32_t four = 0;
        std::memcpy(&four, from + (i + k) / 2, HWY_MIN(kLanes / 2, size_t(4)));
        words[k / 8] = unpacked(four);
      }
    }
    const auto halves =
        hn::PromoteTo(di, get(hn::Rebind<int8_t, D>(), reinterpret_cast<const int8_t*>(words)));
    const auto sign = hn::Set(di, 8);
    return hn::ConvertTo(d, hn::Sub(hn::Xor(halves, sign), sign));
  }
};

// Floats of 8 bits, scaled by a power of two so that the largest one of a block is in the topmost binade.
template <class Format>
struct Scaled {
  static constexpr size_t kPerByte = 1;
  static HWY_INLINE float factor(float most, float* scale) {
    constexpr int kTop = Format::kMantissa == 3 ? 8 : 15;  // the largest exponent of a finite number
    const int exponent = std::ilogb(most) - kTop;
    // Rounding up may leave the range: there is one power of two more then.
    const bool over = std::scalbn(most, -exponent) > (Format::kMantissa == 3 ? 448.f : 57344.f);
    *scale = std::scalbn(1.f, exponent + over);
    return std::scalbn(1.f, -(exponent + over));
  }
  template <bool Nearest, class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, const codec::Blocks&, std::byte* to, size_t i) {
    Quarter<Format>::store(d, v, to, i);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const std::byte* from, size_t i) {
    return Quarter<Format>::load(d, from, i);
  }
  // The largest floats may be rounded up to a number beyond them.
  template <class D>
  static HWY_INLINE hn::Vec<D> finite(D d, hn::Vec<D> v) {
    const auto most = hn::Set(d, std::numeric_limits<float>::max());
    return hn::IfThenElse(hn::Gt(hn::Abs(v), most), hn::CopySign(most, v), v);
  }
};

constexpr size_t kAheadFloats = 1024;

template <class Format, bool Nearest>
HWY_INLINE void encode_each(const codec::Blocks& of, const float* values, float* scales, std::byte* numbers) {
  for (size_t begin = 0, b = 0; begin < of.count; begin += of.block, b++) {
    const size_t count = HWY_MIN(of.block, of.count - begin);
    // The next lines come while this block is at work: what hardware foresees is too near for two passes.
    for (size_t i = 0; i < count; i += 16) __builtin_prefetch(values + begin + i + kAheadFloats);
    const float most = largest(values + begin, count);
    float scale = 0, factor = 0;
    if (most > std::numeric_limits<float>::max()) {
      scale = std::numeric_limits<float>::quiet_NaN();
    } else if (most >= codec::kSmallestBlock) {
      factor = Format::factor(most, &scale);
    }
    std::memcpy(scales + b, &scale, sizeof scale);
    if (factor == 0) {
      std::memset(numbers + begin / Format::kPerByte, 0, (count + Format::kPerByte - 1) / Format::kPerByte);
      continue;
    }
    each(count, [&](auto d, size_t i) {
      Format::template store<Nearest>(d, hn::Mul(get(d, values + begin + i), hn::Set(d, factor)), of, numbers,
                                      begin + i);
    });
  }
}
template <class Format>
void encode_blocks(const codec::Blocks& of, const float* values, float* scales, std::byte* numbers) noexcept {
  of.nearest ? encode_each<Format, true>(of, values, scales, numbers)
             : encode_each<Format, false>(of, values, scales, numbers);
}

template <class Format>
void decode_blocks(const codec::Blocks& of, const float* scales, const std::byte* numbers, float* values,
                   bool add) noexcept {
  for (size_t begin = 0, b = 0; begin < of.count; begin += of.block, b++) {
    const size_t count = HWY_MIN(of.block, of.count - begin);
    float scale;
    std::memcpy(&scale, scales + b, sizeof scale);
    float* const to = values + begin;
    auto decoded = [&](auto d, size_t i) {
      return Format::finite(d, hn::Mul(Format::load(d, numbers, begin + i), hn::Set(d, scale)));
    };
    if (add) {
      each(count, [&](auto d, size_t i) { put(d, hn::Add(get(d, to + i), decoded(d, i)), to + i); });
    } else {
      each(count, [&](auto d, size_t i) { put(d, decoded(d, i), to + i); });
    }
  }
}

}  // namespace plait::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
