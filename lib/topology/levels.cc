#include "topology/levels.h"

#include <algorithm>
#include <array>
#include <map>

namespace plait::topology {
namespace {

std::span<const NodeId> places_of(const Graph& g) {
  return g.of(Kind::chip).empty() ? g.of(Kind::core) : g.of(Kind::chip);
}

// The part of the containment tree that makes a group at a level; kNone: the place is in none such.
NodeId container(const Graph& g, NodeId place, Near near) {
  switch (near) {
    case Near::pci:
      // The outermost PCI switch: behind it chips reach each other without the host bridge.
      for (NodeId at = place, best = kNone;; at = g.node(at).parent) {
        if (at == kNone || g.node(at).kind < Kind::bridge) return best;
        if (g.node(at).kind == Kind::pci_switch) best = at;
      }
    case Near::numa:
      return g.within(place, Kind::numa);
    case Near::package:
      return g.within(place, Kind::package);
    case Near::host:
      return g.within(place, Kind::host);
    case Near::rack:
      return g.within(place, Kind::rack);
    case Near::pod:
      return g.within(place, Kind::pod);
    default:
      return 0;
  }
}

class Groups {
 public:
  explicit Groups(size_t n) : leader_(n) {
    for (uint32_t i = 0; i < n; i++) leader_[i] = i;
  }
  uint32_t find(uint32_t i) {
    while (leader_[i] != i) i = leader_[i] = leader_[leader_[i]];
    return i;
  }
  // True where they were two.
  bool join(uint32_t a, uint32_t b) {
    a = find(a), b = find(b);
    if (a == b) return false;
    leader_[std::max(a, b)] = std::min(a, b);
    return true;
  }

 private:
  std::vector<uint32_t> leader_;
};

void narrow(double& rate, double by) {
  if (by > 0) rate = rate == 0 ? by : std::min(rate, by);
}

// Joins what links between chips of a host join, by themselves or by a switch.
bool join_linked(const Graph& g, std::span<const NodeId> places, Groups& groups, Level& level) {
  bool any = false;
  std::map<NodeId, uint32_t> behind;  // a switch: the first chip that hangs on it
  for (uint32_t i = 0; i < places.size(); i++) {
    double rate = 0;
    for (const uint32_t l : g.links_of(places[i])) {
      const Link& link = g.links()[l];
      const NodeId other = g.other(link, places[i]);
      const bool same_host = g.within(other, Kind::host) == g.within(places[i], Kind::host);
      if (link.kind != LinkKind::chip || !same_host || g.node(other).dead) continue;
      rate += std::min(link.forward_bytes_per_s, link.backward_bytes_per_s);
      level.latency_s = std::max(level.latency_s, link.latency_s);
      if (g.node(other).kind == Kind::fabric_switch)
        any |= groups.join(i, behind.try_emplace(other, i).first->second);
      else if (g.node(other).kind == Kind::chip)
        any |= groups.join(i, g.node(other).index);
    }
    narrow(level.bytes_per_s, rate);
  }
  return any;
}

// All that its links to chips of other hosts carry.
double links_out(const Graph& g, NodeId place, Level& level) {
  double rate = 0;
  for (const uint32_t i : g.links_of(place)) {
    const Link& l = g.links()[i];
    if (l.kind != LinkKind::chip || g.within(g.other(l, place), Kind::host) == g.within(place, Kind::host))
      continue;
    rate += std::min(l.forward_bytes_per_s, l.backward_bytes_per_s);
    level.latency_s = std::max(level.latency_s, l.latency_s);
  }
  return rate;
}

// The ports of its host's NICs, over the host's places.
double share_of_ports(const Graph& g, NodeId place, std::span<const NodeId> places) {
  const NodeId host = g.within(place, Kind::host);
  auto here = [&](NodeId id) { return host != kNone && g.within(id, Kind::host) == host; };
  double ports = 0;
  for (const NodeId nic : g.of(Kind::nic)) ports += here(nic) ? g.node(nic).port_bytes_per_s : 0;
  return ports / double(std::max<int64_t>(1, std::count_if(places.begin(), places.end(), here)));
}

// What a place can send towards the group's container.
void measure(const Graph& g, std::span<const NodeId> places, Near near, Level& level) {
  for (const NodeId place : places) {
    const NodeId top = container(g, place, near);
    if (near == Near::pod) {
      narrow(level.bytes_per_s, links_out(g, place, level));
      continue;
    }
    if (near >= Near::rack) {
      narrow(level.bytes_per_s, share_of_ports(g, place, places));
      break;  // hosts of a room are alike
    }
    double latency = 0;
    for (NodeId at = place; at != top && at != kNone; at = g.node(at).parent) {
      narrow(level.bytes_per_s, g.node(at).bytes_per_s);
      latency += g.node(at).latency_s;
    }
    level.latency_s = std::max(level.latency_s, 2 * latency);
  }
}

void number(Groups& groups, size_t n, Level& level) {
  std::vector<uint32_t> sizes, name(n, kNone);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t& its = name[groups.find(i)];
    if (its == kNone) its = uint32_t(sizes.size()), sizes.push_back(0);
    level.group_of.push_back(its);
    sizes[its]++;
  }
  level.groups = uint32_t(sizes.size());
  level.smallest = *std::min_element(sizes.begin(), sizes.end());
  level.largest = *std::max_element(sizes.begin(), sizes.end());
}

}  // namespace

std::string_view name_of(Near near) noexcept {
  static constexpr std::array<std::string_view, 8> kNames = {
      "chip links", "PCI switch", "NUMA node", "socket", "host", "rack", "pod", "network"};
  return kNames[size_t(near)];
}

std::vector<Level> levels(const Graph& g) {
  std::vector<Level> all;
  const auto places = places_of(g);
  if (places.empty()) return all;
  Groups groups(places.size());
  for (uint8_t k = 0; k <= uint8_t(Near::network); k++) {
    Level level;
    level.near = Near(k);
    bool any = false;
    if (level.near == Near::linked) {
      any = join_linked(g, places, groups, level);
    } else {
      std::map<NodeId, uint32_t> first;
      for (uint32_t i = 0; i < places.size(); i++) {
        const NodeId in = container(g, places[i], level.near);
        if (in != kNone) any |= groups.join(i, first.try_emplace(in, i).first->second);
      }
      if (any) measure(g, places, level.near, level);
    }
    if (!any) continue;
    number(groups, places.size(), level);
    all.push_back(std::move(level));
  }
  return all;
}

}  // namespace plait::topology
