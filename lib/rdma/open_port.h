// A port to work with, and its device, opened.
#pragma once

#include "rdma/device.h"
#include "rdma/ports.h"

namespace plait::rdma {

struct PortWish {
  std::string device;  // empty: any
  uint8_t port = 0;    // 0: any
  int gid_index = -1;  // -1: chosen by rule
  bool on_demand_paging = false;
};
struct UsablePort {
  std::shared_ptr<Device> device;
  OpenPort port;
};
// The first of this machine that is what is wished and can be used. Code::unsupported, with the reason for
// each port, when there is none; Code::invalid when none has that name.
Result<UsablePort> open_port(const PortWish& wish);

}  // namespace plait::rdma
