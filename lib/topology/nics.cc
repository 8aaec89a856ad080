// The nearest NICs of a place, and one for each.
#include <algorithm>
#include <array>
#include <map>

#include "topology/levels.h"

namespace plait::topology {
namespace {

// Up from a node to `top`: counts nodes and remembers the narrowest way.
void climb(const Graph& g, NodeId from, NodeId top, Way& way) {
  for (NodeId at = from; at != top; at = g.node(at).parent) {
    way.hops++;
    const double rate = g.node(at).bytes_per_s;
    if (rate > 0) way.bytes_per_s = way.bytes_per_s == 0 ? rate : std::min(way.bytes_per_s, rate);
  }
}

// PCI switches passed between two nodes.
uint32_t switches(const Graph& g, NodeId from, NodeId top) {
  uint32_t count = 0;
  for (NodeId at = g.node(from).parent; at != top; at = g.node(at).parent)
    count += g.node(at).kind == Kind::pci_switch ? 1 : 0;
  return count;
}

// NUMA nodes, or else sockets, of a host.
size_t parts(const Graph& g, NodeId host) {
  for (const Kind kind : {Kind::numa, Kind::package}) {
    size_t count = 0;
    for (const NodeId id : g.children_of(host)) {
      count += g.node(id).kind == kind ? 1 : 0;
      for (const NodeId in : g.children_of(id)) count += g.node(in).kind == kind ? 1 : 0;
    }
    if (count > 0) return count;
  }
  return 1;
}

Path path_of(const Graph& g, NodeId place, NodeId nic, NodeId top) {
  const Kind kind = g.node(top).kind;
  if (kind == Kind::pci_switch) {
    // Behind a switch's port there may be functions of one device; only switches count.
    return switches(g, place, top) + switches(g, nic, top) == 0 ? Path::same_switch : Path::switches;
  }
  if (kind == Kind::bridge) return Path::host_bridge;
  if (kind == Kind::numa || kind == Kind::cache || kind == Kind::core) return Path::same_numa;
  const NodeId a = g.within(place, Kind::numa), b = g.within(nic, Kind::numa);
  if (a != kNone && b != kNone) return a == b ? Path::same_numa : Path::other_numa;
  if (kind == Kind::package) return Path::same_numa;
  // One of the two is nowhere in particular: in a host of one part that is near.
  return parts(g, top) > 1 ? Path::other_numa : Path::same_numa;
}

// NICs that are in a node, by number.
void collect(const Graph& g, NodeId in, std::vector<NodeId>& nics) {
  if (g.node(in).kind == Kind::nic && !g.node(in).dead) nics.push_back(in);
  for (const NodeId child : g.children_of(in)) collect(g, child, nics);
}

}  // namespace

std::string_view name_of(Path path) noexcept {
  static constexpr std::array<std::string_view, 6> kNames = {
      "same PCI switch", "PCI switches", "host bridge", "same NUMA node", "other NUMA node", "unreachable"};
  return kNames[size_t(path)];
}

bool nearer(const Way& x, const Way& y) noexcept {
  if (x.path != y.path) return x.path < y.path;
  if (x.bytes_per_s != y.bytes_per_s) return x.bytes_per_s > y.bytes_per_s;
  return x.hops < y.hops;
}

std::vector<Way> nics_of(const Graph& g, NodeId place) {
  std::vector<Way> ways;
  const NodeId host = g.within(place, Kind::host);
  std::vector<NodeId> nics;
  collect(g, host == kNone ? 0 : host, nics);
  std::sort(nics.begin(), nics.end());
  for (const NodeId nic : nics) {
    const NodeId top = g.common(place, nic);
    Way way{.nic = nic, .path = path_of(g, place, nic, top)};
    climb(g, place, top, way);
    climb(g, nic, top, way);
    const double port = g.node(nic).port_bytes_per_s;
    if (port > 0) way.bytes_per_s = way.bytes_per_s == 0 ? port : std::min(way.bytes_per_s, port);
    ways.push_back(way);
  }
  std::stable_sort(ways.begin(), ways.end(), nearer);
  return ways;
}

std::vector<Way> rails(const Graph& g) {
  const auto places = g.of(Kind::chip).empty() ? g.of(Kind::core) : g.of(Kind::chip);
  std::vector<Way> all;
  std::map<NodeId, uint32_t> load;
  for (const NodeId place : places) {
    const std::vector<Way> ways = nics_of(g, place);
    const Way* best = nullptr;
    for (const Way& way : ways) {
      if (!nearer(ways[0], way) && (best == nullptr || load[way.nic] < load[best->nic])) best = &way;
    }
    all.push_back(best != nullptr ? *best : Way{});
    if (best != nullptr) load[best->nic]++;
  }
  return all;
}

std::vector<Dimension> dimensions(const Room& room) {
  std::vector<Dimension> all;
  for (size_t f = room.factors.size(); f-- > 0;) {
    const Factor& d = room.factors[f];
    if (d.size < 2) continue;
    double links = 1;  // of a chip along it
    if (d.kind == FactorKind::cycle) links = 2;
    if (d.kind == FactorKind::full) links = d.size - 1;
    if (d.kind == FactorKind::cube_mesh) links = 4;
    all.push_back({describe_run(room.factors, {f, f + 1}), d.size, links * d.bytes_per_s, d.latency_s});
  }
  const uint64_t shaped = room.factors.empty() ? 1 : Lattice(room.factors).size();
  const uint64_t each = std::max<uint64_t>(shaped, 1),
                 chips = room.chips_per_host > 0 ? room.chips() : room.hosts;
  if (room.nics_per_host > 0 && chips / each > 1) {
    const double share = double(std::max(room.chips_per_host, 1u));
    all.push_back({"network", uint32_t(chips / each), room.nics_per_host * room.nic_bytes_per_s / share,
                   room.nic_latency_s});
  }
  return all;
}

}  // namespace plait::topology
