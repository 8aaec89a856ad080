// Domains on libfabric's reliable datagram endpoints: "tcp", "verbs;ofi_rxm", "shm", "efa" and whatever else
// offers enough (fabric/request.h):
//   direct    puts are RDMA writes with their signals; gets are messages.
//   messages  puts and gets are messages that both sides' poll() copies.
// libfabric's environment variables (FI_...) work as ever.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "fabric/request.h"
#include "transport/transport.h"

namespace plait::transport::ofi {

using fabric::Mode;

struct Options : fabric::Request {
  std::string label = "ofi";  // name(), e.g. "ofi:tcp:eth0"
  double bandwidth_Bps =
      0;  // each way, for capabilities(); 0: what the provider says of its link, or not known
};

// Code::invalid for options that make no sense, Code::unsupported with the provider's answer and what it
// lacks where this machine has nothing like it. Loads libfabric's providers, once a process: a quarter of a
// second.
Result<std::unique_ptr<Domain>> make_domain(const Options& options);

}  // namespace plait::transport::ofi
