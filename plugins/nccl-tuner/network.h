// The network between hosts as the model sees it. Every rank computes NCCL's choice by itself, and all must
// come to the same one, so it is made only of what is alike everywhere: variables and a file, never this
// host's NICs.
#pragma once

#include <string>

#include "base/status.h"
#include "collectives/machine/room.h"

namespace plait::nccl::tuner {

// The variable that names a file of parameters, as plait-sim --calibrate writes them (docs/nccl.md).
constexpr const char* kParametersVariable = "PLAIT_NCCL_PARAMETERS";

struct Network {
  collectives::Delivery delivery;  // of a message between hosts
  std::string about;               // "tcp, 3.2 us and 10 GB/s, as PLAIT_LINK_MBPS says", for the log
};

// By PLAIT_NETWORK (the first that it names), PLAIT_LINK_MBPS and the file, which has the last word.
// Code::invalid: a variable or the file makes no sense. Code::unsupported: the network joins no hosts.
Result<Network> read_network();

}  // namespace plait::nccl::tuner
