// How to wait: spin while every rank has a core, yield when they share, then let the caller sleep in the
// kernel.
#pragma once

#include <sched.h>

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace plait {

inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

// Cores this process may run on.
int usable_cores() noexcept;

// What a waiter should do next; see Waiter::next().
enum class Turn : uint8_t { again, check, sleep };

// One per wait. Between two polls of the awaited condition call next(): it relaxes or yields as the policy
// says and returns `check` now and then (look at the clock, the abort flag, the peers) and `sleep` once
// polling no longer pays (arm the wake-up, look once more, sleep in the kernel a bounded time). With more
// ranks than cores it never spins: a spinning rank keeps its core from the one it waits for (8 ranks on 2
// cores: 46 us against 3 us).
class Waiter {
 public:
  struct Policy {
    bool crowded;     // more ranks than cores
    uint32_t spins;   // polls with a core each before sleeping
    uint32_t yields;  // sched_yield calls before sleeping when crowded
  };
  static constexpr uint32_t kCheckEvery = 512;
  // The first polls come without a pause, which may be as long as a store takes to the other core (8 B
  // between two ranks: 155 ns with it, 118 without).
  static constexpr uint32_t kEager = 32;

  // About two task switches.
  static constexpr uint32_t kLinger = 64;
  // So often in a row: who is awaited longer than that sleeps or works, and its core is better left to
  // others (4 ranks, one asleep for 0.6 s: 0.23 % of a core for each that waits; 0.14 so).
  static constexpr uint32_t kMostLingers = 8;

  explicit Waiter(const Policy& policy) noexcept : policy_(policy) {}

  Turn next() noexcept {
    if (policy_.crowded) return next_crowded();
    if (polls_ >= kEager) cpu_relax();
    if (++polls_ % kCheckEvery != 0) return Turn::again;
    return polls_ < policy_.spins ? Turn::check : Turn::sleep;
  }
  // Instead of next(), where ranks share cores and the awaited ones are on others: gives way seldom.
  Turn linger() noexcept {
    if (polls_ >= kMostLingers || ++lingers_ % kLinger == 0) return next();
    cpu_relax();
    return Turn::again;
  }
  // Something moved: start over.
  void reset() noexcept { polls_ = lingers_ = 0; }

 private:
  Turn next_crowded() noexcept;
  Policy policy_;
  uint32_t polls_ = 0, lingers_ = 0;
};

// Crowded: ranks share cores.
Waiter::Policy wait_policy(bool crowded) noexcept;

}  // namespace plait
