// The process's pool of shared memory: what plait_mem_alloc hands out and peers on this host map whole, once.
//
// One sealed memfd, so neither /dev/shm's size nor its name space matters and nobody can shrink a mapping
// under us. The address range is as large as the machine's memory; pages are charged when touched only. It
// lives as long as the process: peers may map it at any time, and free blocks are reused, never unmapped.
//
// To give pages back and to fault them in again costs 20 times what it costs to clear them (64 MiB: 37 ms
// against 2), here and in each peer, so blocks of users are kept for the next of their size, up to a bound:
// keep() and reuse().
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/file.h"
#include "base/status.h"
#include "transport/shm/free_ranges.h"
#include "transport/shm/kept.h"

namespace plait::transport::shm {

// What tells one arena from every other of this host, for ever.
struct ArenaIdentity {
  uint64_t device = 0, inode = 0;
  std::array<uint64_t, 2> nonce{};
  auto operator<=>(const ArenaIdentity&) const = default;
};

// What memory holds when it is given out. Anything: what the process itself once wrote there, perhaps.
enum class Fill { zeroes, anything };

class Arena {
 public:
  static constexpr size_t kAlign = 4096;
  static constexpr size_t kLarge = size_t{2} << 20;      // blocks from here on are aligned to it: huge pages
  static constexpr size_t kGiveBack = size_t{64} << 10;  // free blocks from here on return their pages
  static constexpr size_t kSmallest = size_t{64} << 20;
  static constexpr size_t kBound = size_t{256} << 20;  // of what is kept, unless set_bound() says else
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

  // 4096-aligned, from 2 MiB on 2 MiB-aligned, and at a multiple of `align`, a power of two up to kLarge. Any
  // thread. Code::memory when the arena is full, Code::invalid for 0 bytes, Code::state in a forked child of
  // the arena's process.
  Result<std::byte*> allocate(size_t bytes, Fill fill = Fill::zeroes, size_t align = kAlign);
  // Gives its pages back. False, with nothing changed, when `p` is not what allocate() or reuse() returned
  // (or this is a forked child). Any thread.
  bool free(std::byte* p);

  // As free(), but keeps the block as it is for reuse(), where its size is one of Kept's and the bound allows
  // it; what has been kept longest goes where it does not.
  bool keep(std::byte* p);
  // A kept block of exactly so many bytes at a multiple of `align`, with anything in it; null where there is
  // none.
  std::byte* reuse(size_t bytes, size_t align);
  // At most `most` bytes are kept from now on.
  void set_bound(size_t most);
  // Gives back all that is kept, and the pages of all that is free.
  void trim();
  // Zeroes a block's first bytes, without touching pages that nobody has touched.
  void zero(std::byte* p, size_t bytes) noexcept;
  // Of the block that begins at `p`, rounded up as it is; 0: none does.
  size_t size_of(const std::byte* p) const;

  // A pinned block's address range is not reused though it be freed: peers may still store to it. free()
  // gives its pages back at once. Each pin() that returned true needs one unpin(), with the same arguments.
  // pin() is false when [p, p + bytes) does not lie in one allocated block.
  bool pin(const std::byte* p, size_t bytes);
  void unpin(const std::byte* p);
  // Whether the block that `p` lies in is pinned. A load where none is.
  bool pinned(const std::byte* p) const;

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
  // Allocated now, freed but pinned blocks included, kept ones not; rounded up to 4096 each.
  size_t used() const;
  size_t kept() const;
  size_t bound() const;
  size_t resident() const noexcept;  // bytes of pages that there are

 private:
  enum class State : uint8_t {
    live,
    leaving,  // freed; free as soon as it is unpinned
    kept
  };
  struct Block : KeptBlock {
    uint32_t pins = 0;
    State state = State::live;
  };
  using Blocks = std::map<size_t, Block>;
  Arena(Fd fd, Mapping mapping, const ArenaIdentity& identity, int pid);

  // All below: under mutex_. Offsets, not pointers.
  std::optional<size_t> take(size_t wanted, size_t align);
  void clean(size_t offset, size_t bytes,
             Fill fill);                   // what is dirty there is so no more; zeroed if so wanted
  void soil(size_t offset, size_t bytes);  // gives the pages back, or marks them dirty
  bool punch(size_t offset, size_t bytes) noexcept;
  void release(KeptBlock& block);  // soiled; the reference is gone
  void give_back(size_t most);     // what is kept beyond that
  Block* live_at(const std::byte* p);
  Blocks::const_iterator block_of(const std::byte* p, size_t bytes) const;

  const Fd fd_;
  const Mapping mapping_;
  const ArenaIdentity identity_;
  const int pid_;
  const uint64_t process_;
  mutable std::mutex mutex_;
  FreeRanges free_;
  std::map<size_t, size_t> dirty_;  // free, but not zero: offset → bytes
  Blocks blocks_;                   // allocated or kept, by offset
  Kept kept_;
  size_t used_ = 0;
  size_t bound_;
  std::atomic<uint64_t> pins_{0};
};

// The kernel's random bytes.
std::array<uint64_t, 2> random_nonce() noexcept;

}  // namespace plait::transport::shm
