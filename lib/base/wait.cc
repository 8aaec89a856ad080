#include "base/wait.h"

#include <unistd.h>

namespace plait {

int usable_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  long n = sysconf(_SC_NPROCESSORS_ONLN);  // more CPUs than cpu_set_t holds
  return n > 0 ? int(n) : 1;
}

Turn Waiter::next_crowded() noexcept {
  sched_yield();
  if (++polls_ > policy_.yields) return Turn::sleep;
  return polls_ % 32 == 0 ? Turn::check : Turn::again;
}

Waiter::Policy wait_policy(bool crowded) noexcept {
  // About 2 ms of polling with a core each; 100 task switches of 0.7-2 us when cores are shared.
  return {.crowded = crowded, .spins = 64 * 1024, .yields = 100};
}

}  // namespace plait
