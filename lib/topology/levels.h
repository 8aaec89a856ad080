// What a hierarchy of collectives is made of: which ranks' places are near each other, level by level; and
// which NIC is each one's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topology/graph.h"
#include "topology/room.h"

namespace plait::topology {

// A way to be near, from the inside out. The places are chips; cores, where there are no chips.
enum class Near : uint8_t { linked, pci, numa, package, host, rack, pod, network };
std::string_view name_of(Near near) noexcept;

// Places in groups, each of which joins groups of the level before.
struct Level {
  Near near = Near::host;
  uint32_t groups = 0, smallest = 0, largest = 0;  // in places
  double bytes_per_s = 0, latency_s = 0;  // what joins one place to others at this level; 0: not known
  std::vector<uint32_t> group_of;         // of each place, by index
};
// Innermost first. A level that joins nothing is left out.
std::vector<Level> levels(const Graph& graph);

// How a NIC is reached, best first.
enum class Path : uint8_t { same_switch, switches, host_bridge, same_numa, other_numa, unreachable };
std::string_view name_of(Path path) noexcept;
struct Way {
  NodeId nic = kNone;
  Path path = Path::unreachable;
  uint32_t hops = 0;       // from node to node
  double bytes_per_s = 0;  // of the narrowest part, the NIC's port too; 0: not known
};
// By path, then the fastest, then by hops.
bool nearer(const Way& x, const Way& y) noexcept;
// All working NICs of the node's host, nearest first.
std::vector<Way> nics_of(const Graph& graph, NodeId place);
// For each chip (core, where there are none) one of its nearest NICs, so that NICs equally near get equally
// many; kNone: its host has none.
std::vector<Way> rails(const Graph& graph);

// One dimension a fabric: an allreduce is reduce-scatters along the first to the last of these and allgathers
// back, each on links of its own, so that all can be busy at once with a part of the vector each.
struct Dimension {
  std::string name;  // "ring 4", "full 8", "network"
  uint32_t size = 1;
  double bytes_per_s = 0, latency_s = 0;  // that a chip has along it, each way, all its links there together
};
// Of a room, the innermost first; the network between hosts is the last, where there are NICs.
std::vector<Dimension> dimensions(const Room& room);

}  // namespace plait::topology
