// The domain "ucx": whatever UCX (UCP 1.13) finds between two processes. All of it goes by UCP's active
// messages, in pieces of one packet of the transport that UCX chose: so every byte is checked before this
// process writes it, and close() is final. docs/transport.md says what that costs, and what else was tried.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "transport/transport.h"

namespace plait::transport::ucx {

// UCX's own variables (UCX_...) hold for all that these leave open.
struct Options {
  std::string transports;     // as UCX_TLS: "tcp", "posix,sysv,cma", "rc,tcp"; empty: that, or UCX's choice
  std::string devices;        // as UCX_NET_DEVICES: "eth0", "mlx5_0:1"; empty: that, or all
  std::string label = "ucx";  // name(), e.g. "ucx:tcp"
  double bandwidth_Bps = 0;   // each way, for capabilities(); 0: not known
  // An idle connection whose other host is silent for so long is dead: TCP only (and UCX_TCP_KEEP... decide,
  // if set).
  int keepalive_s = 5;
};

// Code::invalid when the options make no sense. Code::unsupported, with what there is, when UCX finds no such
// transport or device. Code::system when it cannot start for another reason.
//
// Capabilities differ by what UCX chose: where its transports cannot tell of a failed peer (shared memory, in
// 1.13), detects_death is false.
Result<std::unique_ptr<Domain>> make_domain(const Options& options);

// What UCX could use on this machine: "tcp" on "eth0", "posix" on "memory".
struct Device {
  std::string transport, device;
};
// In UCX's order. Empty when it finds nothing.
std::vector<Device> list();

}  // namespace plait::transport::ucx
