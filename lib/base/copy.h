// memcpy, without the one case of it that is many times slower than all others on some processors; and copies
// that do not stay in the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace plait {

// copy_bytes() where memcpy would be slow, or everywhere: in lines of 64 bytes.
void copy_lines(void* to, const void* from, size_t bytes) noexcept;

// Whether copies go byte by byte whose target is so many bytes behind their source, modulo the page.
constexpr bool copies_slowly(uintptr_t behind) noexcept { return behind % 4096 - 1 < 15; }

// Copies `bytes` bytes between ranges that do not overlap.
//
// Above about 2 KiB glibc copies by `rep movsb` where the processor announces ERMS or FSRM. Zen 4 does that
// byte by byte where the target lies 1 to 15 bytes behind the source, in their pages: 1.7 to 3.5 GB/s instead
// of 43 to 57 (EPYC of family 25, model 17; perf/bench_copy). Such pairs are met wherever something short
// stands before what is copied, so they do not go that way. What the kernel copies, does: see
// docs/transport.md.
inline void copy_bytes(void* to, const void* from, size_t bytes) noexcept {
  constexpr size_t kByVectors = 1024;  // up to here memcpy is by vectors
  const uintptr_t behind = reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from);
  if (bytes > kByVectors && copies_slowly(behind)) [[unlikely]]
    return copy_lines(to, from, bytes);
  std::memcpy(to, from, bytes);
}

// Results of so many bytes go past the cache: they would not stay in it, and lines that are stored whole need
// not be fetched before. 2 ranks on a Zen 3 (L3 of 32 MiB), 16 MiB: allgather 2.3 -> 1.8 ms, allreduce out of
// place 2.7 -> 1.8, messages 1.35 -> 0.99; 4 MiB take 2.5 times as long so.
constexpr size_t kPastCacheBytes = size_t{16} << 20;

// copy_bytes() past the cache, in order before any later store of this thread. No alignment is required.
void copy_past_cache(void* to, const void* from, size_t bytes) noexcept;

}  // namespace plait
