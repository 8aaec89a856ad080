// What -d names: a domain of any transport.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/status.h"
#include "bootstrap/secret.h"
#include "perf/pair/options.h"
#include "runtime/rail_spec.h"
#include "transport/transport.h"

namespace plait::perf::pair {

struct Device {
  bool shm = false;
  std::vector<runtime::RailSpec> rails;  // else
  std::vector<uint32_t> chips;           // of icl:0/2: the server's and the client's
  std::string kind() const;              // what must be alike on both sides: "shm", "tcp", "ofi:tcp"
  std::string name() const;              // "tcp:eth0", "verbs:rxe1?gid_index=1"
};

// Code::invalid and Code::unsupported say what is wrong with -d, or with an option that it does not take.
Result<Device> find_device(const Options& options);

// `met`: this side's address of the control connection; family 0: none yet.
Result<std::unique_ptr<transport::Domain>> open_device(const Device& device, const Address& met,
                                                       const bootstrap::SecretPtr& secret);

// Of a server: the other chips of its pod, as far as they are free. What lies on the way between two chips
// passes packets on, so somebody must run it. Empty where -d names no two chips.
std::vector<std::unique_ptr<transport::Domain>> open_chips_on_the_way(const Device& device);

}  // namespace plait::perf::pair
