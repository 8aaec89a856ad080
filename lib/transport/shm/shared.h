// What processes share: small structs that lie in their owner's arena, and are loaded and stored through
// mappings. Each field has one side that writes it, named with it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <type_traits>
#include <vector>

#include "transport/shm/arena.h"

namespace plait::transport::shm {

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

constexpr size_t kLine = 64;
constexpr uint16_t kCounters = 64;

// Of a domain. 1 while its user may sleep: the owner sets it; who clears it writes the eventfd, so one wake
// is enough.
struct alignas(2 * kLine) DomainWords {
  std::atomic<uint32_t> asleep{0};
};

// Of an endpoint: what its peer writes to.
struct alignas(kLine) Control {
  // The owner's: its nonce while puts may land, 0 once closed.
  std::atomic<uint64_t> grant{0};
  // The peer's: 1 while it copies a piece. It stores 1, then looks at `grant`, then copies; the owner's
  // close() stores to `grant`, then waits for 0 here. See Barrier in process.h for what orders the two.
  alignas(kLine) std::atomic<uint32_t> writing{0};
  // The peer's very last store to this struct and to all of the owner's arena: 1.
  std::atomic<uint32_t> detached{0};
  // The peer's: sums of its adds.
  alignas(kLine) std::atomic<uint64_t> counters[kCounters]{};
};

// Of a region: the truth that a key is held against, so that no bit of a key can be forged.
struct alignas(kLine) RegionRecord {
  std::atomic<uint64_t> nonce{0};  // the owner's, as are the next four
  std::atomic<uint64_t> kind{0};   // kind << 8 | access
  std::atomic<uint64_t> start{0};  // offset in the arena, or address
  std::atomic<uint64_t> bytes{0};
  std::atomic<uint32_t> live{0};       // 0: revoked
  std::atomic<uint32_t> importers{0};  // the peers'
};

// Blocks of one type in the arena; never given back to it. Any thread.
template <class T>
class SharedPool {
 public:
  static_assert(std::is_trivially_destructible_v<T>);
  explicit SharedPool(Arena& arena) noexcept : arena_(arena) {}

  Result<T*> make() {
    std::lock_guard lock(mutex_);
    if (free_.empty()) {
      constexpr size_t kChunk = 65536;
      auto chunk = arena_.allocate(kChunk);
      if (!chunk.ok()) return chunk.status();
      for (size_t i = kChunk / sizeof(T); i-- > 0;) free_.push_back(*chunk + i * sizeof(T));
    }
    T* made = new (free_.back()) T();
    free_.pop_back();
    return made;
  }
  // When no peer will touch it again.
  void release(T* gone) {
    std::lock_guard lock(mutex_);
    free_.push_back(reinterpret_cast<std::byte*>(gone));
  }

 private:
  Arena& arena_;
  std::mutex mutex_;
  std::vector<std::byte*> free_;
};

}  // namespace plait::transport::shm
