// Sixteen numbers that are computed with together, in as many vectors as the instruction set needs for them.
// What is summed over lanes is summed in one order, whatever the width of a vector; and a step reads whole
// cache lines.
#include <algorithm>

#include "collectives/lowrank/lowrank.h"
#include "hwy/highway.h"

#if defined(PLAIT_LOWRANK_WIDE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PLAIT_LOWRANK_WIDE_INL
#undef PLAIT_LOWRANK_WIDE_INL
#else
#define PLAIT_LOWRANK_WIDE_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::lowrank::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kLanes = 16;

template <class T>
struct Wide {
  using D = hn::CappedTag<T, kLanes>;
  static constexpr size_t kStep = HWY_LANES(T);  // lanes of one vector
  static constexpr size_t kVectors = kLanes / kStep;
  hn::Vec<D> v[kVectors];
};
using Floats = Wide<float>;
using Doubles = Wide<double>;

template <class T>
HWY_INLINE Wide<T> all(T x) {
  Wide<T> w;
  for (auto& v : w.v) v = hn::Set(typename Wide<T>::D(), x);
  return w;
}
template <class T>
HWY_INLINE Wide<T> operator+(const Wide<T>& a, const Wide<T>& b) {
  Wide<T> w;
  for (size_t i = 0; i < Wide<T>::kVectors; i++) w.v[i] = hn::Add(a.v[i], b.v[i]);
  return w;
}
template <class T>
HWY_INLINE Wide<T> operator-(const Wide<T>& a, const Wide<T>& b) {
  Wide<T> w;
  for (size_t i = 0; i < Wide<T>::kVectors; i++) w.v[i] = hn::Sub(a.v[i], b.v[i]);
  return w;
}
template <class T>
HWY_INLINE Wide<T> operator*(const Wide<T>& a, const Wide<T>& b) {
  Wide<T> w;
  for (size_t i = 0; i < Wide<T>::kVectors; i++) w.v[i] = hn::Mul(a.v[i], b.v[i]);
  return w;
}

// Halves onto halves: lane i and lane i + 8 first.
template <class D>
HWY_INLINE hn::TFromD<D> sum_of_lanes([[maybe_unused]] D d, hn::Vec<D> v) {
#if HWY_TARGET != HWY_SCALAR  // which has no halves
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    return sum_of_lanes(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
#endif
  return hn::GetLane(v);
}
template <class T>
HWY_INLINE T sum(Wide<T> w) {
  for (size_t half = Wide<T>::kVectors / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; i++) w.v[i] = hn::Add(w.v[i], w.v[i + half]);
  }
  return sum_of_lanes(typename Wide<T>::D(), w.v[0]);
}

// Where numbers lie: kLanes of them, or the first few, with zeros for the others.
struct Whole {
  static HWY_INLINE Floats load(const float* p) {
    Floats w;
    for (size_t i = 0; i < Floats::kVectors; i++) w.v[i] = hn::LoadU(Floats::D(), p + i * Floats::kStep);
    return w;
  }
  static HWY_INLINE void store(const Floats& w, float* p) {
    for (size_t i = 0; i < Floats::kVectors; i++) hn::StoreU(w.v[i], Floats::D(), p + i * Floats::kStep);
  }
};
struct First {
  size_t count;
  HWY_INLINE Floats load(const float* p) const {
    float lane[kLanes] = {};
    std::copy_n(p, count, lane);
    return Whole::load(lane);
  }
  HWY_INLINE void store(const Floats& w, float* p) const {
    float lane[kLanes];
    Whole::store(w, lane);
    std::copy_n(lane, count, p);
  }
};

// Where prefetched lines go: rows apart by a power of two fall into few sets of the first cache.
constexpr int kSecondCache = 2;

// What is compressed: m, or m and error.
struct Plain {
  const float* m;
  template <class Where>
  HWY_INLINE Floats load(Where where, size_t at) const {
    return where.load(m + at);
  }
  HWY_INLINE void prefetch(size_t at) const { __builtin_prefetch(m + at, 0, kSecondCache); }
};
struct Corrected {
  const float *m, *error;
  template <class Where>
  HWY_INLINE Floats load(Where where, size_t at) const {
    return where.load(m + at) + where.load(error + at);
  }
  HWY_INLINE void prefetch(size_t at) const {
    __builtin_prefetch(m + at, 0, kSecondCache);
    __builtin_prefetch(error + at, 0, kSecondCache);
  }
};

}  // namespace plait::collectives::lowrank::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
