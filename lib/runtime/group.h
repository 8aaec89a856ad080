// Calls between plait_group_begin and plait_group_end: those that would block are started, and waited for
// together.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/request.h"

namespace plait::runtime {

// The thread whose group is the only one that is open. kNobody: none is. kSeveral, for good: two were open at
// once, and each thread's own depth says. Every call asks whether it is in a group, and to ask for a thread's
// own costs more than all else that it asks.
using ThreadPlace = uintptr_t;
constexpr ThreadPlace kNobody = 0, kSeveral = 1;
inline std::atomic<ThreadPlace> only_group{kNobody};
inline ThreadPlace this_thread() noexcept { return ThreadPlace(__builtin_thread_pointer()); }
bool has_depth() noexcept;

// Is any thread?
[[gnu::always_inline]] inline bool any_group() noexcept {
  return only_group.load(std::memory_order_relaxed) != kNobody;
}
// Is this thread between the two?
[[gnu::always_inline]] inline bool in_group() noexcept {
  const ThreadPlace of = only_group.load(std::memory_order_relaxed);
  if (of == kNobody) return false;
  return of == kSeveral ? has_depth() : of == this_thread();
}
// A started request that the end of the group waits for and frees.
void defer(plait_request* request);
// `comm` goes: what this thread deferred of it ends with it.
void forget_deferred(const Communicator* comm) noexcept;

}  // namespace plait::runtime
