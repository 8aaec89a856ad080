// The domain "verbs": one port of an RDMA device (InfiniBand, RoCE, soft-RoCE), driven by libibverbs
// directly. An endpoint is a reliable connected queue pair; a put is an RDMA write, with immediate data where
// it carries a signal; a get is an RDMA read. The hardware moves the bytes: no target need poll for them.
// docs/transport.md has the whole story.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "transport/transport.h"

namespace plait::transport::verbs {

// How two queue pairs come to know each other. Both sides must do the same.
enum class Connect : uint8_t {
  tickets,  // by what their tickets say
  cm,       // by the RDMA connection manager, which asks the fabric for the path; IP addresses only
};

struct Options {
  std::string device;  // "mlx5_0"; empty: that of the first port that can be used
  uint8_t port = 0;    // from 1; 0: the first that can be used
  int gid_index = -1;  // -1: chosen by rule, see rdma::choose_gid()
  Connect connect = Connect::tickets;
  std::string label;  // name(); empty: "verbs:DEVICE"

  uint8_t traffic_class = 0, service_level = 0;  // what switches sort RoCE by, and InfiniBand
  uint16_t mtu = 0;                              // bytes, at most; 0: what both ports have
  // A packet is sent again when 4.096 us * 2^timeout passed without an answer, `retries` times; then its peer
  // counts as dead. Devices wait up to four times as long as asked: half a second to some seconds. 7 retries
  // are endless ones to soft-RoCE.
  uint8_t timeout = 14, retries = 6;
  // Where the target has no receive: cannot be, since signals are credits. 7: for ever.
  uint8_t rnr_retries = 6;

  uint16_t depth = 128;          // transfers outstanding on an endpoint, 1 to 4096
  uint16_t signals = 64;         // that the target did not poll yet, of an endpoint, 1 to 1024
  uint32_t inline_bytes = 256;   // asked for; less where the device has less
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

// What a domain gave to its device so far: work requests, and calls that told the device of them (doorbells).
struct Work {
  uint64_t requests = 0, doorbells = 0;
};
Work work_of(const Domain& domain) noexcept;  // of this back end

// Registrations of its device: made, and found again.
struct Registered {
  uint64_t made = 0, found = 0;
};
Registered registered_of(const Domain& domain) noexcept;  // of this back end

// For tests: the queue pair fails as if the device had found an error.
void force_error(Endpoint& endpoint) noexcept;  // of this back end

}  // namespace plait::transport::verbs
