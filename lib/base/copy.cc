#include "base/copy.h"

#include <algorithm>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace plait {

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
