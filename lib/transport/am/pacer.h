// How much of a stream of puts is under way. A kernel takes megabytes for a peer that is a little slower than
// this side, and then all of them go through memory instead of through caches. So the last message of each
// quarter of what may be under way asks for an acknowledgement, and no more is sent than that.
#pragma once

#include "base/ring.h"

namespace plait::transport::am {

class Pacer {
 public:
  // most: bytes under way; 0: any number.
  explicit Pacer(size_t most) noexcept : most_(most) {}

  bool may_send() const noexcept { return sent_ - landed_ < most_ || most_ == 0; }
  // Whether a message of so many bytes is to ask.
  bool due(size_t bytes) const noexcept { return most_ != 0 && sent_ + bytes - marked_ >= most_ / kMarks; }
  // It was sent.
  void sent(size_t bytes) noexcept { sent_ += bytes; }
  // And asked, as the `ask`-th of the endpoint's; `own`: for this alone.
  void mark(uint64_t ask, bool own) noexcept {
    marked_ = sent_;
    marks_.push() = {ask, sent_, own};
  }
  // The `ask`-th was answered. True: nobody else waits for that.
  bool answered(uint64_t ask) noexcept {
    if (marks_.empty() || marks_.front().ask != ask) return false;
    const Mark mark = marks_.front();
    marks_.pop();
    landed_ = mark.sent;
    return mark.own;
  }

 private:
  struct Mark {
    uint64_t ask = 0, sent = 0;
    bool own = false;
  };
  static constexpr size_t kMarks = 4;

  const size_t most_;
  uint64_t sent_ = 0, marked_ = 0, landed_ = 0;  // bytes: all, to the last mark, to the last answer
  Ring<Mark, kMarks + 1> marks_;                 // the first message that goes too far is sent
};

}  // namespace plait::transport::am
