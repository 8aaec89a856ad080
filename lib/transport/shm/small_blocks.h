// Blocks below a page or two, of the arena: slabs of 64 KiB, each of blocks of one size.
//
// What is known of them (which are free) lies in memory of this process alone, where no peer can change it. A
// lock for each size; a system call only for a fresh slab.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "transport/shm/arena.h"
#include "transport/shm/size_classes.h"

namespace plait::transport::shm {

class SmallBlocks {
 public:
  using Classes = SizeClasses<16, 4>;
  static constexpr size_t kMost = 8192;
  static constexpr size_t kSlab = size_t{64} << 10;

  // Code::memory: no address space for the table of slabs.
  static Result<std::unique_ptr<SmallBlocks>> create(Arena& arena);
  ~SmallBlocks();
  SmallBlocks(const SmallBlocks&) = delete;
  SmallBlocks& operator=(const SmallBlocks&) = delete;

  // Whether allocate() is the place for such a block. `align`: a power of two.
  static constexpr bool serves(size_t bytes, size_t align) noexcept {
    return bytes <= kMost && align <= kMost;
  }
  // With anything in it, at a multiple of `align`. Any thread; so are the rest.
  Result<std::byte*> allocate(size_t bytes, size_t align);
  // Nothing: `p` lies in no slab. False: in one, but is no block that is allocated. A block of a slab that is
  // pinned is not used again before it is pinned no more: peers may still store to it.
  std::optional<bool> free(const std::byte* p);
  // Of the allocated block that begins at `p`; 0: none does. Nothing: `p` lies in no slab.
  std::optional<size_t> size_of(const std::byte* p) const;
  // Gives slabs without a block back to the arena.
  void trim();

 private:
  class Bits;
  struct Slab;
  struct Size {
    mutable std::mutex mutex;
    std::vector<std::unique_ptr<Slab>> open;  // with free blocks; the last is taken from
    std::vector<Slab*> held;                  // with blocks that wait for the end of a pin
    size_t slabs = 0;                         // of this size; both have room for so many
  };
  SmallBlocks(Arena& arena, Mapping table) noexcept;
  static size_t class_of(size_t bytes, size_t align) noexcept;
  std::atomic<Slab*>& slot(size_t offset) const noexcept;
  Slab* slab_of(const std::byte* p) const noexcept;
  Status open_slab(Size& size, size_t index);
  void close_slab(Size& size, Slab& slab);
  void take_back_held(Size& size);
  void reopen(Size& size, Slab& slab);

  Arena& arena_;
  const Mapping table_;  // std::atomic<Slab*> for each kSlab bytes of the arena
  std::array<Size, Classes::index(kMost) + 1> sizes_;
};

}  // namespace plait::transport::shm
