// Long messages whose memory both ranks map are copied by both of them: the sender begins with the first
// half, the receiver with the second one, and who is through with its own takes chunks of the other's. So a
// rank that does not look leaves its peer all of it, and waits for a chunk at most.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace plait::transport {

// Messages of a direction that are copied so at a time. A power of two: numbers wrap.
constexpr uint32_t kMessageShares = 64;

// Of one half: the number of its message << 32 | how many chunks somebody took, or copied. Mostly one rank
// alone writes to it.
struct alignas(64) MessageHalf {
  std::atomic<uint64_t> taken, copied;
};
// Lies in the receiver's memory. It is used again when all chunks of its message were copied, which the
// receiver may not have seen then: it finds a later number.
struct MessageShare {
  MessageHalf halves[2];
};
static_assert(sizeof(MessageShare) == 128);

// One rank's view of a message that both copy.
class SharedCopy {
 public:
  enum class Side : uint8_t { sender = 0, receiver = 1 };  // the half that it begins with

  SharedCopy(MessageShare& cell, uint32_t number, Side side, const std::byte* from, std::byte* to,
             uint64_t bytes, bool past_cache) noexcept
      : cell_(cell),
        number_(number),
        side_(side),
        from_(from),
        to_(to),
        bytes_(bytes),
        past_cache_(past_cache) {}

  // The sender's, before it announces the message.
  void offer() noexcept;
  // Takes and copies chunks until `budget` bytes are spent. Where some are left all chunks were taken, and it
  // has nothing to do any more.
  void copy(size_t& budget) noexcept;
  // Were all chunks copied? Then neither rank touches the memory of the message any more.
  bool done() const noexcept;

 private:
  static constexpr uint64_t kLeastChunk = 16 * 1024, kMostChunk = 128 * 1024, kPage = 4096;  // bytes
  static constexpr uint64_t kChunks = 32;  // about so many, where they are not shorter or longer then

  uint64_t chunk_bytes() const noexcept {
    return std::clamp(round_up(bytes_ / kChunks, kPage), kLeastChunk, kMostChunk);
  }
  uint64_t middle() const noexcept { return std::min(round_up(bytes_ / 2, kPage), bytes_); }
  uint64_t begin_of(int half) const noexcept { return half == 0 ? 0 : middle(); }
  uint64_t end_of(int half) const noexcept { return half == 0 ? middle() : bytes_; }
  uint64_t chunks_of(int half) const noexcept {
    return (end_of(half) - begin_of(half) + chunk_bytes() - 1) / chunk_bytes();
  }
  bool take(int half, uint64_t& chunk) noexcept;
  void copy_chunk(int half, uint64_t chunk, size_t& budget) noexcept;

  MessageShare& cell_;
  const uint32_t number_;
  const Side side_;
  const std::byte* const from_;
  std::byte* const to_;
  const uint64_t bytes_;
  const bool past_cache_;  // this rank's chunks
};

}  // namespace plait::transport
