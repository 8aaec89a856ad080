// Memory by the page: it costs address space only until it is touched, and can be given back.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/file.h"

namespace plait {

constexpr size_t kPageBytes = 4096;

// Private, zeroed. Empty: there is not so much address space.
inline Mapping map_pages(size_t bytes) noexcept {
  void* at =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? Mapping() : Mapping(at, bytes);
}

// Give back what whole pages lie in [at, at + bytes): they read as zero from then on. A system call.
inline void drop_pages(std::byte* at, size_t bytes, int advice = MADV_DONTNEED) noexcept {
  const auto start = reinterpret_cast<uintptr_t>(at), begin = round_up(start, kPageBytes),
             end = (start + bytes) / kPageBytes * kPageBytes;
  if (begin < end) (void)::madvise(at + (begin - start), end - begin, advice);
}
// The same of shared memory, for all who map it.
inline void drop_shared_pages(std::byte* at, size_t bytes) noexcept { drop_pages(at, bytes, MADV_REMOVE); }

}  // namespace plait
