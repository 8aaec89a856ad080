// When to look at what may have come. A library that sleeps on its sockets' behalf asks the kernel at each
// look, and that takes a lock which the sender's side of the kernel needs, too, to announce what it brings:
// who looks in vain all the time holds up what it waits for. So while large messages come, a look that found
// nothing is followed by a pause, short beside the message.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace plait::transport::am {

class Lookout {
 public:
  // A message of so many bytes came: it is taken that others like it follow.
  void saw(size_t bytes) noexcept {
    pause_ns_ = bytes < kLong ? 0 : int64_t(std::min(bytes, kLongest) / kBytesPerNs);
  }
  // One was sent: what comes next answers it, and is awaited.
  void sent(size_t bytes) noexcept {
    if (bytes >= kLong) pause_ns_ = 0;
  }
  bool due() const noexcept { return pause_ns_ == 0 || now_ns() >= not_before_ns_; }
  // So it was.
  void looked(bool found) noexcept {
    if (pause_ns_ != 0 && !found) not_before_ns_ = now_ns() + pause_ns_;
  }

 private:
  static constexpr size_t kLong = size_t{64} << 10, kLongest = size_t{1} << 20;
  static constexpr size_t kBytesPerNs = 128;  // sixteen times as many as a copy moves

  int64_t pause_ns_ = 0, not_before_ns_ = 0;
};

}  // namespace plait::transport::am
