#include "base/copy.h"

#include <algorithm>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace plait {

#if defined(__x86_64__)

namespace {

bool is_zen_5_or_later() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0 || b != signature_AMD_ebx || c != signature_AMD_ecx) return false;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return false;
  const unsigned family = (a >> 8 & 0xf) + (a >> 20 & 0xff);
  constexpr unsigned kFastShortStrings = 1u << 4;  // FSRM, in edx
  return family >= 26 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kFastShortStrings) != 0;
}

}  // namespace

const bool copies_by_string = is_zen_5_or_later();

void copy_by_string(void* to, const void* from, size_t bytes) noexcept {
#ifdef PLAIT_SANITIZED
  std::memcpy(to, from, bytes);  // which sanitizers see
#else
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#endif
}

#else

const bool copies_by_string = false;

void copy_by_string(void* to, const void* from, size_t bytes) noexcept { std::memcpy(to, from, bytes); }

#endif

#if defined(__SSE2__)

namespace {
constexpr size_t kLine = 64;
}  // namespace

void copy_past_cache(void* to, const void* from, size_t bytes) noexcept {
  auto* at = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  const size_t head = std::min(bytes, -reinterpret_cast<uintptr_t>(to) % kLine);
  std::memcpy(at, source, head);
  for (bytes -= head, at += head, source += head; bytes >= kLine;
       bytes -= kLine, at += kLine, source += kLine) {
    __m128i words[4];
    std::memcpy(words, source, kLine);
    for (int i = 0; i < 4; i++) _mm_stream_si128(reinterpret_cast<__m128i*>(at) + i, words[i]);
  }
  std::memcpy(at, source, bytes);
}

void copy_also_past_cache(void* to, void* also, const void* from, size_t bytes) noexcept {
  if (is_for_string(bytes)) return copy_twice(to, also, from, bytes);
  auto *at = static_cast<std::byte*>(to), *streamed = static_cast<std::byte*>(also);
  const auto* source = static_cast<const std::byte*>(from);
  const size_t head = std::min(bytes, -reinterpret_cast<uintptr_t>(also) % kLine);
  std::memcpy(at, source, head);
  std::memcpy(streamed, source, head);
  for (bytes -= head, at += head, streamed += head, source += head; bytes >= kLine;
       bytes -= kLine, at += kLine, streamed += kLine, source += kLine) {
    __m128i words[4];
    std::memcpy(words, source, kLine);
    std::memcpy(at, words, kLine);
    for (int i = 0; i < 4; i++) _mm_stream_si128(reinterpret_cast<__m128i*>(streamed) + i, words[i]);
  }
  std::memcpy(at, source, bytes);
  std::memcpy(streamed, source, bytes);
}

void end_past_cache() noexcept { _mm_sfence(); }

#else

void copy_past_cache(void* to, const void* from, size_t bytes) noexcept { copy_bytes(to, from, bytes); }
void copy_also_past_cache(void* to, void* also, const void* from, size_t bytes) noexcept {
  copy_bytes(to, from, bytes);
  copy_bytes(also, from, bytes);
}
void end_past_cache() noexcept {}

#endif

}  // namespace plait
