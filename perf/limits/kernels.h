// What moves and sums the elements of the limits: whole registers, the compiler's own, and non-temporal
// stores.
#pragma once
#include <cstddef>

#ifdef __AVX__
#include <immintrin.h>
#endif

namespace limits {

using Wide = float __attribute__((vector_size(64), aligned(4), may_alias));
constexpr size_t kWide = sizeof(Wide) / sizeof(float);
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
  if constexpr (How == Store::around) {
    const auto* const halves = reinterpret_cast<const __m256*>(&v);
    _mm256_stream_ps(p, halves[0]);
    _mm256_stream_ps(p + kWide / 2, halves[1]);
    return;
  }
#endif
  if constexpr (How == Store::ahead) __builtin_prefetch(p + kAhead, 1);
  store(p, v);
}

inline void finish_stores() { __builtin_ia32_sfence(); }

// outs[*][i] = ins[0][i] + ... + ins[Ins - 1][i], from `from` up to `to`.
template <int Ins, int Outs, Store How>
void sum(const float* const* ins, float* const* outs, size_t from, size_t to) {
  size_t i = from;
  for (; i + kWide <= to; i += kWide) {
    Wide all = load(ins[0] + i);
    for (int q = 1; q < Ins; ++q) all += load(ins[q] + i);
    for (int q = 0; q < Outs; ++q) store<How>(outs[q] + i, all);
  }
  for (; i < to; ++i) {
    float all = ins[0][i];
    for (int q = 1; q < Ins; ++q) all += ins[q][i];
    for (int q = 0; q < Outs; ++q) outs[q][i] = all;
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
