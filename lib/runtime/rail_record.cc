#include "runtime/rail_record.h"

#include <cstring>
#include <type_traits>

#include "base/clock.h"

namespace plait::runtime {

void RailRecord::add(const transport::rails::RailEvent& event, uint64_t operation) noexcept {
  static_assert(std::is_trivially_copyable_v<Event>);
  Event e;
  e.at_ns = now_ns();
  e.operation = operation;
  e.rank = int32_t(event.endpoint);
  e.rail = uint8_t(event.rail);
  e.what = event.what;
  e.parts = event.parts;
  e.bytes = event.bytes;
  event.why.copy(e.why, sizeof e.why - 1);
  uint64_t words[kWords] = {};
  std::memcpy(words, &e, sizeof e);
  const uint64_t number = latest_.load(std::memory_order_relaxed) + 1;
  Entry& entry = entries_[number % kEvents];
  entry.number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (size_t i = 0; i < kWords; i++) entry.words[i].store(words[i], std::memory_order_relaxed);
  entry.number.store(number, std::memory_order_release);
  latest_.store(number, std::memory_order_release);
}

bool RailRecord::read(uint64_t number, Event* event) const noexcept {
  const Entry& entry = entries_[number % kEvents];
  if (number == 0 || entry.number.load(std::memory_order_acquire) != number) return false;
  uint64_t words[kWords];
  for (size_t i = 0; i < kWords; i++) words[i] = entry.words[i].load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (entry.number.load(std::memory_order_relaxed) != number) return false;
  std::memcpy(event, words, sizeof *event);
  return true;
}

}  // namespace plait::runtime
