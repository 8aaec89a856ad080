// Which process this is, told from its ancestors by a load instead of the system call that getpid() is.
#pragma once

#include <atomic>
#include <cstdint>

namespace plait {

namespace detail {
// In a page that the kernel clears in a child, however it was forked; null until it is first asked for.
extern std::atomic<std::atomic<uint64_t>*> process_word;
uint64_t number_this_process() noexcept;
}  // namespace detail

// Not 0; the same throughout a process, and another than that of any process that it was forked from. Numbers
// of processes that are not ancestors of one another may be equal: what compares them has been inherited. Any
// thread.
inline uint64_t process_number() noexcept {
  const auto* word = detail::process_word.load(std::memory_order_acquire);
  const uint64_t number = word == nullptr ? 0 : word->load(std::memory_order_relaxed);
  return number != 0 ? number : detail::number_this_process();
}

}  // namespace plait
