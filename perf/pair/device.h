// What -d names: a domain of any transport.
#pragma once

#include <memory>
#include <string>

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
  std::string kind() const;              // what must be alike on both sides: "shm", "tcp", "ofi:tcp"
  std::string name() const;              // "tcp:eth0", "verbs:rxe1?gid_index=1"
};

// Code::invalid and Code::unsupported say what is wrong with -d, or with an option that it does not take.
Result<Device> find_device(const Options& options);

// `met`: this side's address of the control connection; family 0: none yet.
Result<std::unique_ptr<transport::Domain>> open_device(const Device& device, const Address& met,
                                                       const bootstrap::SecretPtr& secret);

}  // namespace plait::perf::pair
