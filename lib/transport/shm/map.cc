#include "transport/shm/map.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>

#include "transport/shm/arena.h"

namespace plait::transport::shm {

namespace {

// The level-1 cache of AMD's Zen finds a line by a hash of bits 12 to 27 of its virtual address (Lipp et al.,
// "Take A Way", ASIA CCS 2020), and holds one of two lines with the same hash and the same place in their
// pages. What ranks sum lies at the same offsets of their arenas as a rule: were two of these a multiple of
// 256 MiB apart, each store to the one would throw the other out (64 KiB in 14 us instead of 1.6). So
// mappings begin at different multiples of 2 MiB within 256 MiB, up to 128 of them.
constexpr size_t kHashed = size_t{256} << 20;

struct Room {
  std::byte* at = nullptr;
  size_t bytes = 0;
};

// Without rights: a process under mlockall(MCL_FUTURE) would fault in, and lock, all of it.
Room reserve(size_t bytes) noexcept {
  void* got = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return got == MAP_FAILED ? Room{} : Room{static_cast<std::byte*>(got), bytes};
}

// `bytes` bytes of it that begin at `place` modulo `unit`, a power of two; the rest is given back.
std::byte* cut(Room room, size_t bytes, size_t place, size_t unit) noexcept {
  std::byte* base = room.at + ((place - reinterpret_cast<uintptr_t>(room.at)) & (unit - 1));
  if (base != room.at) munmap(room.at, size_t(base - room.at));
  if (auto* end = base + bytes; end != room.at + room.bytes) munmap(end, size_t(room.at + room.bytes - end));
  return base;
}

// The first is the process's own, and nobody else's.
size_t next_place() noexcept {
  constexpr size_t kOthers = kHashed / Arena::kLarge - 1;
  static std::atomic<size_t> mappings{0};
  const size_t before = mappings.fetch_add(1, std::memory_order_relaxed);
  return before == 0 ? 0 : 1 + (before - 1) % kOthers;
}

// Where address space is short, anywhere.
std::byte* place_for(size_t bytes) noexcept {
  if (const Room room = reserve(bytes + kHashed); room.at != nullptr)
    return cut(room, bytes, next_place() * Arena::kLarge, kHashed);
  const Room room = reserve(bytes + Arena::kLarge);
  return room.at == nullptr ? nullptr : cut(room, bytes, 0, Arena::kLarge);
}

}  // namespace

Mapping map_shared(int fd, size_t bytes) noexcept {
  std::byte* const base = place_for(bytes);
  if (base == nullptr) return {};
  Mapping mapping(base, bytes);
  if (mmap(base, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0) == MAP_FAILED) return {};
  munlock(base, bytes);
  if (mprotect(base, bytes, PROT_READ | PROT_WRITE) != 0) return {};
  madvise(base, bytes, MADV_DONTDUMP);  // a core file would walk, and hold, all of it
  return mapping;
}

}  // namespace plait::transport::shm
