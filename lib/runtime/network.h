// What joins ranks of different hosts: the rails that PLAIT_NETWORK names, as a domain.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/status.h"
#include "transport/transport.h"

namespace plait::runtime {

// "tcp", "tcp:eth1", "ofi:tcp", "ucx", "verbs:mlx5_0": a fabric, and what of it.
struct RailSpec {
  std::string fabric, detail;
};

// Rails of a comma list; of an empty one, TCP. Code::invalid names what is wrong, and what there is.
Result<std::vector<RailSpec>> parse_network(std::string_view text);
std::string to_string(const std::vector<RailSpec>& rails);
// What must be alike on all ranks: not the names of interfaces and devices, which each host may choose.
std::string kind_of(const std::vector<RailSpec>& rails);

// Where this rank is.
struct Place {
  std::string interfaces;      // PLAIT_IFACE
  std::vector<Address> known;  // own addresses that reached others already
  uint16_t port_min = 0, port_max = 0;
  uint32_t link_mbps = 0;  // 0: as the interface says
};

// Code::unsupported and Code::system say which rail, and why it cannot be had.
Result<std::unique_ptr<transport::Domain>> open_network(const std::vector<RailSpec>& rails,
                                                        const Place& place);

}  // namespace plait::runtime
