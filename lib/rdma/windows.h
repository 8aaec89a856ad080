// Memory windows (type 1): remote keys of their own for registered memory. To make one and to destroy one is
// cheap; what it costs much to make, the registration, stays. Type 2 windows belong to one queue pair; these
// to the protection domain.
#pragma once

#include "rdma/open_port.h"
#include "rdma/queue_pair.h"

namespace plait::rdma {

class Windows {
 public:
  // Flags of memory that a window can be bound to: peers reach it by windows only.
  static constexpr int kBindable = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;

  // Code::unsupported where the device has none. Binding is work for a queue pair: one that is connected to
  // itself.
  static Result<std::unique_ptr<Windows>> make(Device& device, const OpenPort& port);
  ~Windows();

  // Any thread. For just the memory that `mr` is of: devices exist (soft-RoCE, Linux 6.1) that check the
  // bounds of the registration, not the window's. `rights`: IBV_ACCESS_REMOTE_*. Destroyed before `mr`, it
  // opens nothing any more.
  using Held = std::shared_ptr<ibv_mw>;
  Result<Held> bind(ibv_mr& mr, unsigned rights);

 private:
  explicit Windows(Device& device) noexcept;
  Status start(const OpenPort& port);
  Status finish();

  const int pid_;
  Device& device_;
  std::mutex lock_;
  Owned<ibv_cq, ibv_destroy_cq> done_;
  QueuePair binder_;
  bool broken_ = false;
};

}  // namespace plait::rdma
