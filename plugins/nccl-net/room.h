// Memory that a peer's messages come to: pages of this process, or, for peers of this host that are to store
// to it, a block of its shared memory.
#pragma once

#include <utility>

#include "base/file.h"
#include "base/status.h"

namespace plait::nccl {

class Room {
 public:
  Room() = default;
  // Zeroed. Code::memory.
  static Result<Room> make(size_t bytes, bool shared);
  ~Room();
  Room(Room&& other) noexcept
      : pages_(std::move(other.pages_)),
        block_(std::exchange(other.block_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  Room& operator=(Room&& other) noexcept {
    std::swap(pages_, other.pages_);
    std::swap(block_, other.block_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* data() const noexcept { return block_ != nullptr ? block_ : pages_.data(); }
  size_t size() const noexcept { return bytes_; }

 private:
  Mapping pages_;
  std::byte* block_ = nullptr;  // of the arena
  size_t bytes_ = 0;
};

}  // namespace plait::nccl
