// The domain "verbs": one port of an RDMA device (InfiniBand, RoCE, soft-RoCE), driven by libibverbs
// directly. An endpoint is a reliable connected queue pair; a put is an RDMA write, with immediate data where
// it carries a signal; a get is an RDMA read. The hardware moves the bytes: no target need poll for them.
// docs/transport.md has the whole story.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "rdma/channel_options.h"
#include "rdma/sender.h"
#include "transport/transport.h"

namespace plait::transport::verbs {

using rdma::Connect;

struct Options : rdma::ChannelOptions {
  std::string device;  // "mlx5_0"; empty: that of the first port that can be used
  uint8_t port = 0;    // from 1; 0: the first that can be used
  int gid_index = -1;  // -1: chosen by rule, see rdma::choose_gid()
  std::string label;   // name(); empty: "verbs:DEVICE"

  bool relaxed_ordering = true;  // where it is safe: memory that peers do not write
  // Registrations that no region uses any more are kept, up to so many bytes, and found again, where it is
  // certain that they stay true; elsewhere the log says why not. `trusting`: also where the kernel does not
  // tell of guards that are put into memory (MADV_GUARD_INSTALL, Linux 6.13): who sets it knows that nobody
  // does that.
  size_t cached_bytes = size_t{256} << 20;
  bool trusting = false;
  // What peers reach is kept, too: their keys are of memory windows, which end with the region. Soft-RoCE
  // (Linux 6.1) finishes a packet that it has begun after the window has gone, so not there in earnest.
  bool memory_windows = false;
  bool on_demand_paging = false;  // regions are not pinned; Code::unsupported where the device cannot
};

// Code::unsupported, with the reason for each port, when there is none that can be used; Code::invalid when
// the options make no sense or name what is not there; Code::system, with the call and the device, when one
// is refused.
Result<std::unique_ptr<Domain>> make_domain(const Options& options);

// What a domain gave to its device so far.
rdma::Work work_of(const Domain& domain) noexcept;  // of this back end

// Registrations of its device: made, and found again.
struct Registered {
  uint64_t made = 0, found = 0;
};
Registered registered_of(const Domain& domain) noexcept;  // of this back end

// For tests: the queue pair fails as if the device had found an error.
void force_error(Endpoint& endpoint) noexcept;  // of this back end

}  // namespace plait::transport::verbs
