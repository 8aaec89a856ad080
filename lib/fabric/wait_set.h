// What one thread sleeps on: descriptors of completion queues, and a timer for what no completion tells of.
#pragma once

#include <rdma/fi_eq.h>

#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "fabric/device.h"

namespace plait::fabric {

class WaitSet {
 public:
  // Not where the device's queues have no descriptors: then fd() is -1, and all else does nothing.
  Status open(const Device& device);
  int fd() const noexcept { return epoll_.get(); }

  // From now on, and no more: before the queue is closed.
  void add(fid_cq& queue);
  void remove(fid_cq& queue) noexcept;
  // True: fd() turns readable when anything comes to one of them. It may take what has come: look after it at
  // what comes without a completion.
  bool arm() noexcept;

  // fd() turns readable then, once.
  void wake_in(int64_t ns) noexcept;
  void stop_timer() noexcept {
    if (timed_) set_timer(0);
  }

 private:
  void set_timer(int64_t ns) noexcept;

  fid_fabric* fabric_ = nullptr;
  Fd epoll_, timer_;
  std::vector<fid*> queues_;
  bool timed_ = false;
};

}  // namespace plait::fabric
