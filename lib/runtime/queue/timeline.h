// When the latest tensors were queued, agreed on, begun and done, as a Chrome trace.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/queue/ticket.h"

namespace plait::runtime::queue {

class Timeline {
 public:
  explicit Timeline(size_t tensors) : ring_(tensors) {}
  // A tensor that is done. Allocates nothing.
  void note(const Ticket& ticket) noexcept;
  // A file that is there whole or not at all. Code::system.
  Status write(const std::string& path, int32_t rank) const;

 private:
  struct Span {
    Tensor tensor;
    int64_t pushed_ns, agreed_ns, started_ns, done_ns;
    uint32_t operations, fused_with;
  };
  std::vector<Span> ring_;
  uint64_t count_ = 0;
};

}  // namespace plait::runtime::queue
