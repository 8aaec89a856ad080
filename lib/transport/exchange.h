// Out-of-band exchange among the ranks of a job or communicator: what bootstrap offers and wireup needs.
#pragma once

#include <atomic>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/status.h"

namespace plait::transport {

// What bounds a wait: a deadline, and a flag that another thread may set (may be null).
struct Bounds {
  Deadline deadline;
  const std::atomic<bool>* abort = nullptr;
  bool aborted() const noexcept { return abort != nullptr && abort->load(std::memory_order_relaxed); }
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  // Collective. Gives every rank's bytes, by rank, the own included; contributions may differ in length.
  // Code::timeout names the ranks that did not come, Code::peer one that went, Code::aborted when the flag was set.
  virtual Result<std::vector<Bytes>> allgather(ByteView mine, const Bounds& bounds) = 0;
};

}  // namespace plait::transport
