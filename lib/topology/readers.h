// The map of a host as NCCL writes and reads it (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "topology/graph.h"

namespace plait::topology {

// A room of one host, or of as many as there are host_hash values: its CPUs are NUMA nodes, its GPUs chips,
// its network devices NICs, NVSwitches one fabric switch. Refused with "FILE:LINE: why".
Result<Graph> read_nccl_xml(std::string_view text, const std::string& file);

// The map of a host as hwloc writes it (lstopo --of xml), version 2. Chips are the PCI devices that are
// accelerators by class (3D and display controllers, processing accelerators). Refused with "FILE:LINE: why".
Result<Graph> read_hwloc_xml(std::string_view text, const std::string& file);

// The same machine with the names and rates of its NICs that the kernel tells: of network interfaces
// (ROOT/class/net/*) and RDMA devices (ROOT/class/infiniband/*), matched by PCI address. What is not there or
// not understood changes nothing; nothing outside of ROOT is read but through its links.
Result<Graph> with_network(const Graph& graph, const std::string& root);

// This machine, by libhwloc and the kernel (/sys). Code::unsupported: built without it.
Result<Graph> read_this_machine();

}  // namespace plait::topology
