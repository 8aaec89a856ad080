// Memory that is measured with, and what is in it.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/file.h"
#include "base/status.h"

namespace plait::perf::pair {

// Zeroed, every page there. In the arena of shared memory, which peers of this host map, or of its own.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept
      : pages_(std::move(other.pages_)), block_(std::exchange(other.block_, nullptr)), bytes_(other.bytes_) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer();
  // Code::memory.
  static Result<Buffer> make(size_t bytes, bool shared);

  std::byte* data() const noexcept { return block_ != nullptr ? block_ : pages_.data(); }
  size_t size() const noexcept { return bytes_; }

 private:
  Mapping pages_;
  std::byte* block_ = nullptr;
  size_t bytes_ = 0;
};

// What message number `number` of a connection holds: no two alike, so that an old one is not taken for it.
// `stream` tells connections and directions apart.
void fill(std::span<std::byte> bytes, uint64_t stream, uint64_t number) noexcept;
// How many bytes are not so.
uint64_t count_wrong(ByteView bytes, uint64_t stream, uint64_t number) noexcept;

}  // namespace plait::perf::pair
