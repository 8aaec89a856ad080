// What moves and sums the elements of the limits: whole registers, the compiler's own, and non-temporal
// stores.
#pragma once
#include <cstddef>

#ifdef __AVX__
#include <immintrin.h>
#endif

namespace limits {

#ifdef __AVX512F__
constexpr size_t kRegisterBytes = 64;
#else
constexpr size_t kRegisterBytes = 32;
#endif
using Wide = float __attribute__((vector_size(kRegisterBytes), aligned(4), may_alias));
constexpr size_t kWide = sizeof(Wide) / sizeof(float);
constexpr size_t kLine = 64 / sizeof(float);  // what a turn of a loop does: elements
// Lines that a store needs are asked for this many elements before, where nobody has read them: out of place.
constexpr size_t kAhead = 256;

inline Wide load(const float* p) { return *reinterpret_cast<const Wide*>(p); }
inline void store(float* p, Wide v) { *reinterpret_cast<Wide*>(p) = v; }

enum class Store { cached, ahead, around };  // around the caches: `p` is aligned to 64 bytes

template <Store How>
inline void store(float* p, Wide v) {
#if defined(__AVX512F__)
  if constexpr (How == Store::around) return _mm512_stream_ps(p, reinterpret_cast<__m512&>(v));
#elif defined(__AVX__)
  if constexpr (How == Store::around) return _mm256_stream_ps(p, reinterpret_cast<__m256&>(v));
#endif
  if constexpr (How == Store::ahead) __builtin_prefetch(p + kAhead, 1);
  store(p, v);
}

inline void finish_stores() { __builtin_ia32_sfence(); }

// outs[*][i] = ins[0][i] + ... + ins[Ins - 1][i], from `from` up to `to`; Down: the last line first. The
// pointers are copied, or they would be read again after each store.
template <int Ins, int Outs, Store How, bool Down = false>
void sum(const float* const* ins, float* const* outs, size_t from, size_t to) {
  const float* in[Ins];
  float* out[Outs];
  for (int q = 0; q < Ins; ++q) in[q] = ins[q];
  for (int q = 0; q < Outs; ++q) out[q] = outs[q];
  const size_t end = to > from ? from + (to - from) / kLine * kLine : from;
  size_t i = from;
  for (size_t at = from; at < end; at += kLine) {
    i = Down ? end - kLine - (at - from) : at;
    Wide all[kLine / kWide];
    for (size_t k = 0; k < kLine / kWide; ++k) {
      all[k] = load(in[0] + i + k * kWide);
      for (int q = 1; q < Ins; ++q) all[k] += load(in[q] + i + k * kWide);
    }
    for (size_t k = 0; k < kLine / kWide; ++k)
      for (int q = 0; q < Outs; ++q) store<How>(out[q] + i + k * kWide, all[k]);
  }
  for (i = end; i < to; ++i) {
    float all = in[0][i];
    for (int q = 1; q < Ins; ++q) all += in[q][i];
    for (int q = 0; q < Outs; ++q) out[q][i] = all;
  }
  if constexpr (How == Store::around) finish_stores();
}

template <Store How = Store::cached>
inline void copy(float* to, const float* from, size_t n) {
  const float* const ins[] = {from};
  float* const outs[] = {to};
  sum<1, 1, How>(ins, outs, 0, n);
}

}  // namespace limits
