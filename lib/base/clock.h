// The monotonic clock and deadlines.
#pragma once

#include <time.h>

#include <cstdint>
#include <limits>

namespace plait {

// Nanoseconds of CLOCK_MONOTONIC: one clock for all processes of a host.
inline int64_t now_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

// A point in time that a wait may not outlive. Default: never.
class Deadline {
 public:
  constexpr Deadline() = default;
  static Deadline in_ms(int64_t ms) noexcept { return in_ns(ms * 1'000'000); }
  static Deadline in_ns(int64_t ns) noexcept {
    Deadline d;
    int64_t now = now_ns();
    d.at_ns_ =
        ns > std::numeric_limits<int64_t>::max() - now ? std::numeric_limits<int64_t>::max() : now + ns;
    return d;
  }
  bool passed() const noexcept { return now_ns() >= at_ns_; }
  // Never negative.
  int64_t left_ns() const noexcept {
    int64_t left = at_ns_ - now_ns();
    return left < 0 ? 0 : left;
  }
  // For poll(2): rounded up, at most `most`.
  int left_ms(int most = 1'000'000) const noexcept {
    int64_t ms = (left_ns() + 999'999) / 1'000'000;
    return ms > most ? most : int(ms);
  }

 private:
  int64_t at_ns_ = std::numeric_limits<int64_t>::max();
};

}  // namespace plait
