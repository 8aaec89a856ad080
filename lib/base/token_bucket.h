// A token bucket: so many bytes a second, and a burst after a pause. Whoever takes more than there is goes
// into debt, which those behind him pay by waiting: so what is larger than the burst passes, too. The clock
// is the caller's.
#pragma once

#include <algorithm>
#include <cstdint>

namespace plait {

class TokenBucket {
 public:
  // rate 0: no limit.
  TokenBucket(uint64_t rate, uint64_t burst, int64_t now_ns) noexcept
      : rate_(double(rate) * 1e-9), burst_(double(burst)), tokens_(double(burst)), at_ns_(now_ns) {}

  // How long from now on until take() is allowed; 0: it is.
  int64_t wait_ns(int64_t now_ns) noexcept {
    if (rate_ == 0) return 0;
    fill(now_ns);
    return tokens_ >= 0 ? 0 : int64_t(-tokens_ / rate_) + 1;
  }
  void take(uint64_t bytes) noexcept {
    if (rate_ > 0) tokens_ -= double(bytes);
  }
  // Of what was taken and not used.
  void give_back(uint64_t bytes) noexcept {
    if (rate_ > 0) tokens_ += double(bytes);
  }

 private:
  void fill(int64_t now_ns) noexcept {
    const auto passed = double(std::max<int64_t>(now_ns - at_ns_, 0));
    tokens_ = std::min(burst_, tokens_ + passed * rate_);
    at_ns_ = std::max(at_ns_, now_ns);
  }
  const double rate_, burst_;  // bytes a nanosecond, bytes
  double tokens_;
  int64_t at_ns_;
};

}  // namespace plait
