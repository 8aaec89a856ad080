// memcpy, without the cases of it that are many times slower than all others on some processors; and copies
// that do not stay in the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace plait {

// copy_bytes() of 64 bytes and more by loads and stores of the processor's vectors. No alignment is required.
void copy_by_vectors(void* to, const void* from, size_t bytes) noexcept;

// copy_bytes() by one instruction, `rep movsb`, on x86-64; memcpy elsewhere.
void copy_by_string(void* to, const void* from, size_t bytes) noexcept;

// Is that the fastest copy of what may be in a cache? It is on a Zen 5 (AMD's family 26): 64 KiB of plain
// memory to the next core, through parts that it has just read, take 1.05 us so and 2.0 by vectors; to a core
// farther away 2.4, and 9. Later families are presumed to be like it. Zen 3 and 4: see below.
extern const bool copies_by_string;
// Of so many bytes?
inline bool is_for_string(size_t bytes) noexcept {
  constexpr size_t kStrings = 2048;
  return copies_by_string && bytes >= kStrings;
}

// Whether `rep movsb` copies byte by byte where the target is so many bytes behind the source, modulo the
// page.
constexpr bool copies_slowly(uintptr_t behind) noexcept { return behind % 4096 - 1 < 15; }

// Copies `bytes` bytes between ranges that do not overlap.
//
// From about 2 KiB on glibc copies by `rep movsb` where the processor announces ERMS or FSRM. That has two
// weak places. Zen 4 does it byte by byte where the target lies 1 to 15 bytes behind the source, in their
// pages: 1.7 to 3.5 GB/s instead of 43 to 57 (EPYC of family 25, model 17; perf/bench_copy), and such pairs
// are met wherever something short stands before what is copied. And a Zen 3 stores so at a third of the
// speed into what another core has just read, in most processes but not in all (16 KiB in 1.8 us instead of
// 0.65). So what may be in a cache is copied by vectors there. More than that is not: there `rep movsb` need
// not fetch lines that it stores whole. What the kernel copies, does as it likes: see docs/transport.md.
inline void copy_bytes(void* to, const void* from, size_t bytes) noexcept {
  constexpr size_t kMemcpyByVectors = 1024;  // up to here memcpy is
  constexpr size_t kInCache = size_t{1} << 20;
  if (bytes <= kMemcpyByVectors || (bytes > kInCache && !copies_slowly(reinterpret_cast<uintptr_t>(to) -
                                                                       reinterpret_cast<uintptr_t>(from))))
    std::memcpy(to, from, bytes);
  else if (is_for_string(bytes))
    copy_by_string(to, from, bytes);
  else
    copy_by_vectors(to, from, bytes);
}

// Results of so many bytes go past the cache: they would not stay in it, and lines that are stored whole need
// not be fetched before. 2 ranks on a Zen 3 (L3 of 32 MiB), 16 MiB: allgather 2.3 -> 1.8 ms, allreduce out of
// place 2.7 -> 1.8, messages 1.35 -> 0.99; 4 MiB take 2.5 times as long so.
constexpr size_t kPastCacheBytes = size_t{16} << 20;

// copy_bytes() to two places, for what is in a cache: it is read once, unless by strings.
void copy_twice(void* to, void* also, const void* from, size_t bytes) noexcept;

// copy_bytes() past the cache. No alignment is required. Others may see later stores of this thread sooner,
// until end_past_cache().
void copy_past_cache(void* to, const void* from, size_t bytes) noexcept;
// copy_twice(), to `also` past the cache, where that is not done by strings (2 ranks on a Zen 5, 16 MiB:
// allgather of plain memory by both 0.97 ms or, to a core farther away, 1.0; by vectors and past the cache
// 0.91, 2.0).
void copy_also_past_cache(void* to, void* also, const void* from, size_t bytes) noexcept;
// Waits until what was copied so is in memory: behind the last piece of many, not behind each of them.
void end_past_cache() noexcept;

}  // namespace plait
