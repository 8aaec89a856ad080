// Network interfaces: which to use, which of their addresses reaches a peer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/status.h"

namespace plait::bootstrap {

struct Interface {
  std::string name;
  Address address;  // port 0
  bool up = false;
};

// Every IPv4 and IPv6 address of this host (of its network name space).
Result<std::vector<Interface>> list_interfaces();

// Those of `all` to use, best first, by PLAIT_IFACE's rules. `wanted` is a comma list of
//   eth0            the interface of that very name
//   ^eth0           leave it out
//   10.0.0.0/8, fd00::1   interfaces with an address in that subnet, or that address
// in order of preference. Without any but "^" entries: all that are up; bridges and taps of containers and
// virtual machines (docker*, virbr*, cni*, veth*, ...) only when nothing else is up but loopback, and
// loopback only when there is nothing at all. IPv6 link-local addresses come last. Code::invalid when
// no entry fits, with the interfaces there are.
Result<std::vector<Interface>> choose(const std::vector<Interface>& all, std::string_view wanted);

// What the kernel says that an interface moves each way, in Mbit/s; 0 where it does not know, or there is
// none of that name. (A pair of virtual ones says 10,000, whatever it does.)
uint32_t speed_mbps(std::string_view name);

// The address of this host that packets to `peer` leave from; with a non-empty `among`, the best of
// them of the peer's family. Code::system: no route; Code::invalid: none of that family.
Result<Address> source_for(const Address& peer, const std::vector<Interface>& among);

}  // namespace plait::bootstrap
