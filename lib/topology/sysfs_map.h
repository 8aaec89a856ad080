// The map of a host as the kernel's files alone tell it: sockets, NUMA nodes, PCI switches, and of the
// devices those that are asked for. It needs no library, so a runtime can ask.
#pragma once

#include <sched.h>

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "topology/graph.h"

namespace plait::topology {

enum class NicClass : uint8_t { net, infiniband };  // folders below class/

struct SysfsWish {
  NicClass nic_class = NicClass::net;
  std::vector<std::string> nics;  // "eth0", "eth0.100"; "mlx5_0", "mlx5_0/2" with a port
  std::vector<PciAddress> chips;  // any devices that ranks work with
};

struct SysfsMap {
  Graph graph;               // node 0 is the host
  std::vector<NodeId> nics;  // as wished; one without a device is in the host, nowhere in particular
  std::vector<bool>
      devices;  // of each NIC: whether it has one, or lies above interfaces that have (VLAN, bond)
  std::vector<NodeId> chips;  // as wished; kNone: there is none at that address
  struct NumaCpus {
    NodeId node = kNone;
    cpu_set_t cpus{};
  };
  std::vector<NumaCpus> numa;
  std::vector<std::string> notes;  // what was not understood and so left out, "FILE:1: why"
};

inline constexpr size_t kMostWished = 4096;

// ROOT is /sys; nothing outside of it is read but through the links of its class folders, and what those lead
// to must be in ROOT/devices. Rates are as the kernel says now. Code::invalid: more than kMostWished devices.
Result<SysfsMap> read_sysfs(const std::string& root, const SysfsWish& wish);

// Where one is that may run on these CPUs: the innermost of NUMA node, socket and host that has all of them.
// None of them: the host.
NodeId place_of(const SysfsMap& map, const cpu_set_t& cpus);

}  // namespace plait::topology
