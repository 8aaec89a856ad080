#include "transport/message_share.h"

#include "base/copy.h"

namespace plait::transport {

namespace {

constexpr uint64_t word_of(uint32_t number, uint32_t chunks) noexcept {
  return uint64_t(number) << 32 | chunks;
}
constexpr uint32_t number_of(uint64_t word) noexcept { return uint32_t(word >> 32); }
constexpr uint32_t chunks_in(uint64_t word) noexcept { return uint32_t(word); }

}  // namespace

// Who finds the new number in a receiver that missed the end of the cell's last message sees what was copied
// for that, too: hence release.
void SharedCopy::offer() noexcept {
  for (MessageHalf& half : cell_.halves) {
    half.taken.store(word_of(number_, 0), std::memory_order_release);
    half.copied.store(word_of(number_, 0), std::memory_order_release);
  }
}

// What the peer wrote there is compared only: no chunk beyond the half's last one is ever taken.
bool SharedCopy::take(int half, uint64_t& chunk) noexcept {
  std::atomic<uint64_t>& taken = cell_.halves[half].taken;
  uint64_t word = taken.load(std::memory_order_relaxed);
  while (number_of(word) == number_ && chunks_in(word) < chunks_of(half)) {
    chunk = chunks_in(word);
    if (taken.compare_exchange_weak(word, word + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

void SharedCopy::copy_chunk(int half, uint64_t chunk, size_t& budget) noexcept {
  const uint64_t at = begin_of(half) + chunk * chunk_bytes();
  const uint64_t bytes = std::min(chunk_bytes(), end_of(half) - at);
  (past_cache_ ? copy_past_cache : copy_bytes)(to_ + at, from_ + at, bytes);
  if (past_cache_) end_past_cache();
  cell_.halves[half].copied.fetch_add(1, std::memory_order_seq_cst);  // before Endpoint::notify()
  budget -= std::min<size_t>(budget, bytes);
}

void SharedCopy::copy(size_t& budget) noexcept {
  const int own = int(side_);
  for (const int half : {own, 1 - own})
    for (uint64_t chunk = 0; budget != 0 && take(half, chunk);) copy_chunk(half, chunk, budget);
}

bool SharedCopy::done() const noexcept {
  for (const int half : {0, 1}) {
    const uint64_t word = cell_.halves[half].copied.load(std::memory_order_acquire);
    if (number_of(word) == number_ && chunks_in(word) < chunks_of(half)) return false;
  }
  return true;
}

}  // namespace plait::transport
