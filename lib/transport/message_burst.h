// Whether messages are copied past the cache: one alone by its length, many short ones by what they are
// together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/copy.h"

namespace plait::transport {

// The sends, or the receives, of a link that are under way.
class MessageBurst {
 public:
  void begin(uint64_t bytes) noexcept { most_ = std::max(most_, bytes_ += bytes); }
  void end(uint64_t bytes) noexcept {
    bytes_ -= bytes;
    if (bytes_ == 0) most_ = 0;
  }
  // Of a window of many messages nothing is in the cache any more when its memory comes to be used again (2
  // ranks on a Zen 5, 64 messages of 1 MiB, plain memory: 100 us each in the cache, 39 past it). `bytes`: of
  // one of them. `parts`: it goes through parts, which take room, too (64 of 256 KiB: 16 us, and 6.4; without
  // parts 3.8, and 6.8).
  bool past_cache(uint64_t bytes, bool parts) const noexcept {
    const uint64_t most = parts ? kPastCacheBytes : 2 * kPastCacheBytes;
    return bytes >= kPastCacheBytes || (most_ >= most && bytes >= kLeast);
  }

 private:
  // Shorter ones may be of slots that are much longer than what comes.
  static constexpr uint64_t kLeast = 256 * 1024;
  uint64_t bytes_ = 0;
  uint64_t most_ = 0;  // of bytes_, since there were none
};

}  // namespace plait::transport
