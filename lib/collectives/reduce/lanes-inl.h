// How elements become vectors to compute with, and back. Each `Lanes` type has
//   Element        what lies in memory (for its size)
//   kLanes         elements of a full step
//   Acc<K>         K elements in registers, K a power of two up to kLanes
//   load<K>, store<K>, stream<K>   at a byte address; stream wants it aligned to K elements
//   K == kLanes is a full vector in memory, or for float16 in registers
//   call<Op>(a, b), divide<K>(a, ranks)
//   Scalar         a number as it is computed with
//   enter<K>(a, factor)   a times factor, rounded to the element type as if it had been stored
#include <cstring>

#include "collectives/reduce/operators-inl.h"
#include "collectives/reduce/rounding-inl.h"
#include "hwy/cache_control.h"

#if defined(PLAIT_REDUCE_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PLAIT_REDUCE_LANES_INL
#undef PLAIT_REDUCE_LANES_INL
#else
#define PLAIT_REDUCE_LANES_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::HWY_NAMESPACE {

template <class T>
HWY_INLINE const T* as(const std::byte* p) {
  return reinterpret_cast<const T*>(p);
}
template <class T>
HWY_INLINE T* as(std::byte* p) {
  return reinterpret_cast<T*>(p);
}

// Types that are computed with as they lie. `Number` says what avg divides as: int32 is folded as uint32,
// which wraps.
template <class T, class Number = T>
struct Plain {
  using Element = T;
  using Scalar = T;
  static constexpr size_t kLanes = HWY_LANES(T);
  template <size_t K>
  using D = hn::CappedTag<T, K>;
  template <size_t K>
  using Acc = hn::Vec<D<K>>;

  template <size_t K>
  static HWY_INLINE Acc<K> load(const std::byte* p) {
    if constexpr (K == 1) {  // some of Highway's loads of one lane read through the pointer, which may be
                             // misaligned
      T lane;
      std::memcpy(&lane, p, sizeof lane);
      return hn::Set(D<K>(), lane);
    } else {
      return hn::LoadU(D<K>(), as<T>(p));
    }
  }
  template <size_t K>
  static HWY_INLINE void store(Acc<K> v, std::byte* p) {
    if constexpr (K == 1) {
      const T lane = hn::GetLane(v);
      std::memcpy(p, &lane, sizeof lane);
    } else {
      hn::StoreU(v, D<K>(), as<T>(p));
    }
  }
  template <size_t K>
  static HWY_INLINE void stream(Acc<K> v, std::byte* p) {
    hn::Stream(v, D<K>(), as<T>(p));
  }
  template <class Op, class V>
  static HWY_INLINE V call(V a, V b) {
    return Op::call(a, b);
  }
  template <size_t K, class R>
  static HWY_INLINE Acc<K> divide(Acc<K> v, R ranks) {
    return HWY_NAMESPACE::divide<Number>(D<K>(), v, ranks);
  }
  template <size_t K>
  static HWY_INLINE Acc<K> enter(Acc<K> v, T factor) {
    return Prod::call(v, hn::Set(D<K>(), factor));
  }
};

// float16, computed in float32.
struct Float16 {
  using Element = uint16_t;
  using Scalar = float;
  static constexpr size_t kLanes = HWY_LANES(float);
  template <size_t K>
  using D = hn::CappedTag<float, K>;
  template <size_t K>
  using Acc = hn::Vec<D<K>>;
  template <size_t K>
  using Stored = hn::Rebind<uint16_t, D<K>>;

  template <size_t K>
  static HWY_INLINE Acc<K> load(const std::byte* p) {
    return widen_float16(D<K>(), hn::LoadU(Stored<K>(), as<uint16_t>(p)));
  }
  template <size_t K>
  static HWY_INLINE void store(Acc<K> v, std::byte* p) {
    hn::StoreU(round_float16(D<K>(), v), Stored<K>(), as<uint16_t>(p));
  }
  template <size_t K>
  static HWY_INLINE void stream(Acc<K> v, std::byte* p) {
    // Highway streams no less than this, however short the vector.
    if constexpr (K * sizeof(uint16_t) < HWY_STREAM_MULTIPLE)
      return store<K>(v, p);
    else
      hn::Stream(round_float16(D<K>(), v), Stored<K>(), as<uint16_t>(p));
  }
  template <class Op, class V>
  static HWY_INLINE V call(V a, V b) {
    return Op::call(a, b);
  }
  template <size_t K, class R>
  static HWY_INLINE Acc<K> divide(Acc<K> v, R ranks) {
    return HWY_NAMESPACE::divide<float>(D<K>(), v, ranks);
  }
  template <size_t K>
  static HWY_INLINE Acc<K> enter(Acc<K> v, float factor) {
    return widen_float16(D<K>(), round_float16(D<K>(), hn::Mul(v, hn::Set(D<K>(), factor))));
  }
};

// An 8-bit format, computed in float32.
template <class Format>
struct Float8 {
  using Element = uint8_t;
  using Scalar = float;
  static constexpr size_t kLanes = HWY_LANES(float);
  template <size_t K>
  using D = hn::CappedTag<float, K>;
  template <size_t K>
  using Acc = hn::Vec<D<K>>;
  template <size_t K>
  using Stored = hn::Rebind<uint8_t, D<K>>;

  template <size_t K>
  static HWY_INLINE Acc<K> load(const std::byte* p) {
    return widen_float8<Format>(D<K>(), hn::LoadU(Stored<K>(), as<uint8_t>(p)));
  }
  template <size_t K>
  static HWY_INLINE void store(Acc<K> v, std::byte* p) {
    hn::StoreU(round_float8<Format>(D<K>(), v), Stored<K>(), as<uint8_t>(p));
  }
  template <size_t K>
  static HWY_INLINE void stream(Acc<K> v, std::byte* p) {
    if constexpr (K * sizeof(uint8_t) < HWY_STREAM_MULTIPLE)
      return store<K>(v, p);
    else
      hn::Stream(round_float8<Format>(D<K>(), v), Stored<K>(), as<uint8_t>(p));
  }
  template <class Op, class V>
  static HWY_INLINE V call(V a, V b) {
    return Op::call(a, b);
  }
  template <size_t K, class R>
  static HWY_INLINE Acc<K> divide(Acc<K> v, R ranks) {
    return HWY_NAMESPACE::divide<float>(D<K>(), v, ranks);
  }
  template <size_t K>
  static HWY_INLINE Acc<K> enter(Acc<K> v, float factor) {
    const auto product = hn::Mul(v, hn::Set(D<K>(), factor));
    return widen_float8<Format>(D<K>(), round_float8<Format>(D<K>(), product));
  }
};

// bfloat16, computed in float32. Widening needs no shuffle when the elements at even and at odd places, the
// low and high halves of 32-bit words, are kept apart.
struct Bfloat16 {
  using Element = uint16_t;
  using Scalar = float;
  static constexpr size_t kLanes = HWY_LANES(uint16_t);
  template <size_t K>
  using Words = hn::CappedTag<uint32_t, (K + 1) / 2>;
  template <size_t K>
  using D = hn::Rebind<float, Words<K>>;
  template <class V>
  struct Pair {
    V even, odd;
  };
  template <size_t K>
  using Acc = Pair<hn::Vec<D<K>>>;
  template <size_t K>
  using Stored = hn::CappedTag<uint16_t, K>;

  template <size_t K>
  static HWY_INLINE Acc<K> load(const std::byte* p) {
    const auto words = load_words<K>(p);
    return {hn::BitCast(D<K>(), hn::ShiftLeft<16>(words)),
            hn::BitCast(D<K>(), hn::And(words, hn::Set(Words<K>(), 0xFFFF0000u)))};
  }
  template <size_t K>
  static HWY_INLINE void store(const Acc<K>& v, std::byte* p) {
    const auto words = pack<K>(v);
    if constexpr (K == 1) {
      const auto bits = static_cast<uint16_t>(hn::GetLane(words));
      std::memcpy(p, &bits, sizeof bits);
    } else {
      hn::StoreU(hn::BitCast(Stored<K>(), words), Stored<K>(), as<uint16_t>(p));
    }
  }
  template <size_t K>
  static HWY_INLINE void stream(const Acc<K>& v, std::byte* p) {
    if constexpr (K == 1)
      return store<K>(v, p);
    else
      hn::Stream(hn::BitCast(Stored<K>(), pack<K>(v)), Stored<K>(), as<uint16_t>(p));
  }
  template <class Op, class V>
  static HWY_INLINE Pair<V> call(const Pair<V>& a, const Pair<V>& b) {
    return {Op::call(a.even, b.even), Op::call(a.odd, b.odd)};
  }
  template <size_t K, class R>
  static HWY_INLINE Acc<K> divide(const Acc<K>& v, R ranks) {
    return {HWY_NAMESPACE::divide<float>(D<K>(), v.even, ranks),
            HWY_NAMESPACE::divide<float>(D<K>(), v.odd, ranks)};
  }
  template <size_t K>
  static HWY_INLINE Acc<K> times(const Acc<K>& v, float factor) {
    const auto f = hn::Set(D<K>(), factor);
    return {hn::Mul(v.even, f), hn::Mul(v.odd, f)};
  }
  template <size_t K>
  static HWY_INLINE Acc<K> enter(const Acc<K>& v, float factor) {
    const auto product = times<K>(v, factor);
    return {rounded<K>(product.even), rounded<K>(product.odd)};
  }

 private:
  template <size_t K>
  static HWY_INLINE hn::Vec<D<K>> rounded(hn::Vec<D<K>> v) {
    return hn::BitCast(D<K>(), hn::And(round_bfloat16(D<K>(), v), hn::Set(Words<K>(), 0xFFFF0000u)));
  }
  template <size_t K>
  static HWY_INLINE hn::Vec<Words<K>> load_words(const std::byte* p) {
    if constexpr (K == 1) {
      uint16_t bits;
      std::memcpy(&bits, p, sizeof bits);
      return hn::Set(Words<K>(), bits);
    } else {
      return hn::BitCast(Words<K>(), hn::LoadU(Stored<K>(), as<uint16_t>(p)));
    }
  }
  template <size_t K>
  static HWY_INLINE hn::Vec<Words<K>> pack(const Acc<K>& v) {
    return hn::Or(hn::ShiftRight<16>(round_bfloat16(D<K>(), v.even)),
                  hn::And(round_bfloat16(D<K>(), v.odd), hn::Set(Words<K>(), 0xFFFF0000u)));
  }
};

// What averages of bfloat16 are computed with. Its range is that of float32, so a sum may overflow where the
// average does not: it is kept 2^16 times smaller. All numbers of bfloat16, the subnormal ones too, are exact
// at that scale, which leaves every rounding where it was.
struct SmallBfloat16 : Bfloat16 {
  static constexpr float kScale = 0x1p-16f;
  template <size_t K>
  static HWY_INLINE Acc<K> load(const std::byte* p) {
    return times<K>(Bfloat16::load<K>(p), kScale);
  }
  template <size_t K>
  static HWY_INLINE Acc<K> divide(const Acc<K>& v, uint32_t ranks) {
    return Bfloat16::divide<K>(v, static_cast<float>(ranks) * kScale);
  }
};

}  // namespace plait::collectives::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
