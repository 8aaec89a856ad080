// Freed blocks that are kept for the next of their size: the latest is taken first, since it may still be in
// a cache, and the one that has been kept longest is given back first. Costs no memory but the blocks' own
// links.
#pragma once

#include <array>
#include <cstddef>

#include "transport/shm/size_classes.h"

namespace plait::transport::shm {

// A member of a ring; alone, a ring by itself.
struct Link {
  Link() noexcept = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  Link* before = this;
  Link* behind = this;
  void insert_behind(Link& other) noexcept {
    before = &other;
    behind = other.behind;
    other.behind->before = this;
    other.behind = this;
  }
  void leave() noexcept {
    before->behind = behind;
    behind->before = before;
    before = behind = this;
  }
};

struct BySize : Link {};
struct ByAge : Link {};
struct KeptBlock : BySize, ByAge {
  size_t offset = 0, bytes = 0;
};

class Kept {
 public:
  using Classes = SizeClasses<4096, 8>;
  static constexpr size_t kMost = size_t{512} << 30;

  // Whether blocks of so many bytes can be kept.
  static constexpr bool fits(size_t bytes) noexcept {
    return bytes > 0 && bytes <= kMost && Classes::round_up(bytes) == bytes;
  }
  // It fits(), and is in no other Kept.
  void put(KeptBlock& block) noexcept;
  // The latest of exactly so many bytes, which fit(), at a multiple of `align`; no more kept. Null: there is
  // none among the latest few.
  KeptBlock* take(size_t bytes, size_t align) noexcept;
  // The one that has been kept longest; no more kept. Null: there is none.
  KeptBlock* take_oldest() noexcept;
  size_t bytes() const noexcept { return bytes_; }

 private:
  KeptBlock* remove(KeptBlock& block) noexcept;

  std::array<BySize, Classes::index(kMost) + 1> sizes_;
  ByAge ages_;  // the oldest is before it
  size_t bytes_ = 0;
};

}  // namespace plait::transport::shm
