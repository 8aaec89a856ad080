// Work in a process of its own: what crashes or hangs there is a sentence here.
#pragma once

#include <functional>

#include "base/status.h"
#include "perf/nccl/where.h"

namespace plait::nccl_drive {

struct Ended {
  Status status;
  uint64_t bytes = 0;  // that arrived and were right
  uint64_t seed = 0;   // Where::seed at the end
};

// Runs `work` in a fork, the leader of its own process group, which is gone afterwards. Fails where it dies,
// where a single call of the plugin lasts `seconds`, or where it all lasts `seconds_in_all`.
Ended guarded(double seconds, double seconds_in_all, const std::function<Status()>& work);

// Ends a forked process with what its work came to: with exit handlers where it is well, so that leaks are
// found.
[[noreturn]] void leave(const Status& status);

// "died of signal 11 (Segmentation fault) in closeRecv", "ended with status 23".
std::string how_it_ended(int wait_status, const Where& where);

}  // namespace plait::nccl_drive
