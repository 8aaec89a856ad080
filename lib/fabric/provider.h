// The choice of a provider: which one, by what it can do, and what it lacks where it cannot be used.
#pragma once

#include <rdma/fi_endpoint.h>

#include "base/status.h"
#include "fabric/handles.h"
#include "fabric/request.h"

namespace plait::fabric {

// What a provider is used as, and what it was asked for to that end.
struct Choice {
  Info info;
  Mode mode = Mode::messages;
  // false: peers are processes of this host, which the provider may read and write by itself.
  bool network = true;

  std::string provider() const { return info->fabric_attr->prov_name; }
  std::string domain() const { return info->domain_attr->name; }
  bool needs(uint64_t mr_mode) const noexcept {
    return (uint64_t(info->domain_attr->mr_mode) & mr_mode) != 0;
  }
  // Signals are bells (bells.h): this libfabric's ofi_rxm over a provider in software, which is a stream of
  // bytes, crashes where a connection ends within a write with data.
  bool rings() const noexcept;
  bool loopback() const noexcept;         // its address is reached from this host only
  double bandwidth_Bps() const noexcept;  // of the link, each way; 0: not known
};

// Loads libfabric's providers, once a process: a quarter of a second. Code::unsupported with the provider's
// answer and what it lacks where this machine has nothing like it. Any thread.
Result<Choice> choose(const Request& request);

// Why `info` cannot be used as `mode`; empty: it can.
std::string lacks(const fi_info& info, Mode mode);

}  // namespace plait::fabric
