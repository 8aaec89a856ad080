// The process's allocator of shared memory: what users are given. Small blocks are of slabs, large ones whole
// pages, rounded up to a class of size so that the arena can keep them for the next of their size.
#pragma once

#include <cstddef>
#include <memory>

#include "base/status.h"
#include "transport/shm/arena.h"
#include "transport/shm/small_blocks.h"

namespace plait::transport::shm {

class Heap {
 public:
  // Of the process's arena, made on first use and never destroyed; a forked child gets one of its own.
  static Result<Heap*> process();
  // This process's, if it is made; else null. Two loads.
  static Heap* made() noexcept;
  // Whether `p` lies in the arena of a process that this one was forked from.
  static bool inherited(const void* p);
  static Result<std::unique_ptr<Heap>> create(Arena& arena);

  // At a multiple of `align`, a power of two up to Arena::kLarge. Any thread; so are the rest. Code::memory
  // when the arena is full, Code::state in a forked child of the arena's process. 0 bytes are a block, too.
  Result<std::byte*> allocate(size_t bytes, size_t align, Fill fill);
  // A block of `bytes` bytes, with what the block `p` has; that one, or a new one at a multiple of `align`,
  // and `p` is freed. Code::invalid: `p` is no block that is allocated. After an error it is as it was.
  Result<std::byte*> resize(std::byte* p, size_t bytes, size_t align);
  // False, with nothing changed, when `p` is no block that is allocated.
  bool free(std::byte* p);
  // Of the block that begins at `p`, all of which its user may use; 0: none does.
  size_t usable(const std::byte* p) const;

  // Gives all free memory back to the system, as far as whole pages are free.
  void trim();
  Arena& arena() const noexcept { return arena_; }

 private:
  Heap(Arena& arena, std::unique_ptr<SmallBlocks> small) noexcept : arena_(arena), small_(std::move(small)) {}
  Result<std::byte*> allocate_pages(size_t bytes, size_t align, Fill fill);

  Arena& arena_;
  const std::unique_ptr<SmallBlocks> small_;
};

}  // namespace plait::transport::shm
