// The process's pool of shared memory: what plait_mem_alloc hands out and peers on this host map whole, once.
//
// One sealed memfd, so neither /dev/shm's size nor its name space matters and nobody can shrink a mapping
// under us. The address range is as large as the machine's memory; pages are charged when touched only. It
// lives as long as the process: peers may map it at any time, and free blocks are reused, never unmapped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "base/file.h"
#include "base/status.h"
#include "transport/shm/free_ranges.h"

namespace plait::transport::shm {

// What tells one arena from every other of this host, for ever.
struct ArenaIdentity {
  uint64_t device = 0, inode = 0;
  std::array<uint64_t, 2> nonce{};
  auto operator<=>(const ArenaIdentity&) const = default;
};

class Arena {
 public:
  static constexpr size_t kAlign = 4096;
  static constexpr size_t kLarge = size_t{2} << 20;      // blocks from here on are aligned to it: huge pages
  static constexpr size_t kGiveBack = size_t{64} << 10;  // free blocks from here on return their pages
  static constexpr size_t kSmallest = size_t{64} << 20;
  static constexpr size_t kLargest = size_t{512}
                                     << 30;  // 250 peers' arenas still fit into 47 bits of address

  // The arena of this process, made on first use and never destroyed. After fork() the child gets one of its
  // own. Code::memory when not even 64 MiB of address space are to be had.
  static Result<Arena*> process();

  // One of `bytes` bytes at most; half as often as the system refuses, not below 64 MiB (or `bytes`, if
  // less).
  static Result<std::unique_ptr<Arena>> create(size_t bytes);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Zeroed; 4096-aligned, from 2 MiB on 2 MiB-aligned. Any thread. Code::memory when the arena is full,
  // Code::invalid for 0 bytes, Code::state in a forked child of the arena's process.
  Result<std::byte*> allocate(size_t bytes);
  // False, with nothing changed, when `p` is not what allocate() returned (or this is a forked child). Any
  // thread.
  bool free(std::byte* p);

  // A pinned block's address range is not reused though it be freed: peers may still store to it. free()
  // gives its pages back at once. Each pin() that returned true needs one unpin(), with the same arguments.
  // pin() is false when [p, p + bytes) does not lie in one allocated block.
  bool pin(const std::byte* p, size_t bytes);
  void unpin(const std::byte* p);

  // True when all of [p, p + bytes) lies in the arena. A compare of bounds, for hot paths.
  bool owns(const void* p, size_t bytes) const noexcept {
    auto at = reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(mapping_.data());
    return at <= mapping_.size() && bytes <= mapping_.size() - at;
  }
  uint64_t offset(const void* p) const noexcept {
    return uint64_t(static_cast<const std::byte*>(p) - base());
  }

  std::byte* base() const noexcept { return mapping_.data(); }
  size_t bytes() const noexcept { return mapping_.size(); }
  int fd() const noexcept { return fd_.get(); }
  const ArenaIdentity& identity() const noexcept { return identity_; }
  // Allocated now, freed but pinned blocks included; rounded up to 4096 each.
  size_t used() const;

 private:
  struct Block {
    size_t bytes = 0;
    uint32_t pins = 0;
    bool freed = false;  // as soon as unpinned
  };
  Arena(Fd fd, Mapping mapping, const ArenaIdentity& identity, int pid);

  // All below: under mutex_. Offsets, not pointers.
  void clean(size_t offset, size_t bytes);  // zeroes what is dirty there
  void soil(size_t offset, size_t bytes);   // gives the pages back, or marks them dirty
  void release(std::map<size_t, Block>::iterator block);
  std::map<size_t, Block>::iterator block_of(const std::byte* p, size_t bytes);

  const Fd fd_;
  const Mapping mapping_;
  const ArenaIdentity identity_;
  const int pid_;
  mutable std::mutex mutex_;
  FreeRanges free_;
  std::map<size_t, size_t> dirty_;  // free, but not zero: offset → bytes
  std::map<size_t, Block> blocks_;  // allocated, by offset
  size_t used_ = 0;
};

// Maps the first `bytes` bytes of a memfd shared, read-write, 2 MiB-aligned, reserving nothing, never in core
// dumps. An empty mapping and errno on failure.
Mapping map_shared(int fd, size_t bytes) noexcept;

// The kernel's random bytes.
std::array<uint64_t, 2> random_nonce() noexcept;

}  // namespace plait::transport::shm
