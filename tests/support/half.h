// The float16 of somebody else, to compare with: the compiler's, or the processor's where the compiler has
// none.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__clang__) && defined(__x86_64__)
#include <immintrin.h>
#endif

namespace plait::test {

#if defined(__clang__) && defined(__x86_64__)  // clang 14 has _Float16 with AVX-512 only
[[gnu::target("f16c")]] inline uint16_t half_bits(float x) { return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }
#else
#if defined(__aarch64__)
using Half = __fp16;  // GCC 12 has no _Float16 in C++ there
#else
using Half = _Float16;
#endif

inline uint16_t half_bits(float x) {
  const auto half = Half(x);
  uint16_t bits;
  std::memcpy(&bits, &half, sizeof bits);
  return bits;
}
#endif

}  // namespace plait::test
