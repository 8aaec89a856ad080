// A room, node by node.
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "topology/room.h"

namespace plait::topology {
namespace {

// What stands for one group of a tier: its switches.
struct Group {
  std::vector<NodeId> switches;
  double up_bytes_per_s = 0;  // that its members may send upwards, before this tier's oversubscription
};

class Expansion {
 public:
  explicit Expansion(const Room& room) : room_(room), lattice_(room.factors) {}
  Result<Graph> run() {
    graph_.add(Kind::room, kNone, "room");
    const NodeId pod = room_.pod_factors > 0 ? graph_.add(Kind::pod, 0, "pod") : 0;
    for (uint32_t h = 0; h < room_.hosts; h++) add_host(h, place_of(h, pod));
    join_chips();
    join_hosts();
    return graph_.build();
  }

 private:
  // The rack of a host, where leaves make racks.
  NodeId place_of(uint32_t host, NodeId otherwise) {
    if (room_.tiers.empty() || room_.pod_factors > 0) return otherwise;
    const uint32_t below = room_.tiers[0].below;
    if (host % below == 0) rack_ = graph_.add(Kind::rack, 0, fmt::format("rack {}", host / below));
    return rack_;
  }
  static uint32_t share(uint32_t index, uint32_t of, uint32_t among) {
    return uint32_t(uint64_t(index) * among / of);
  }

  void add_host(uint32_t h, NodeId parent) {
    const NodeId host = graph_.add(Kind::host, parent, fmt::format("host {}", h));
    graph_.at(host).dead = std::binary_search(room_.dead_hosts.begin(), room_.dead_hosts.end(), h);
    hosts_.push_back(host);
    std::vector<NodeId> sockets(room_.sockets_per_host, host);
    for (uint32_t s = 0; s < sockets.size() && sockets.size() > 1; s++)
      sockets[s] = graph_.add(Kind::package, host, fmt::format("socket {}", s));
    for (uint32_t c = 0; c < room_.cores_per_host; c++)
      graph_.add(Kind::core, sockets[share(c, room_.cores_per_host, room_.sockets_per_host)],
                 fmt::format("core {}", c));
    for (uint32_t c = 0; c < room_.chips_per_host; c++) add_chip(h, c, sockets);
    for (uint32_t n = 0; n < room_.nics_per_host; n++) {
      const NodeId nic = graph_.add(Kind::nic, sockets[share(n, room_.nics_per_host, room_.sockets_per_host)],
                                    fmt::format("nic {}", n));
      graph_.at(nic).port_bytes_per_s = room_.nic_bytes_per_s;
      graph_.at(nic).dead = graph_.at(host).dead;
      nics_.push_back(nic);
    }
  }

  void add_chip(uint32_t host, uint32_t c, const std::vector<NodeId>& sockets) {
    const uint32_t number = host * room_.chips_per_host + c;
    const NodeId chip =
        graph_.add(Kind::chip, sockets[share(c, room_.chips_per_host, room_.sockets_per_host)],
                   fmt::format("chip {}", number));
    graph_.at(chip).system = int32_t(c);
    graph_.at(chip).dead = room_.is_dead(number);
    graph_.at(chip).taken = room_.is_taken(number);
    chips_.push_back(chip);
  }

  void join_chips() {
    for (size_t f = 0; f < room_.factors.size(); f++) {
      const Factor& d = room_.factors[f];
      if (d.kind == FactorKind::switched) add_switches(f);
      for (uint32_t c = 0; c < chips_.size(); c++) {
        const uint64_t base = c / lattice_.size() * lattice_.size();
        lattice_.each_neighbour(c - base, f, [&](uint64_t to) {
          to += base;
          if (to > c && !room_.is_dead_link(c, uint32_t(to)))
            graph_.link(
                {chips_[c], chips_[to], LinkKind::chip, 1, d.latency_s, d.bytes_per_s, d.bytes_per_s});
        });
      }
    }
  }

  // One for each line of the product along a factor.
  void add_switches(size_t f) {
    const Factor& d = room_.factors[f];
    const uint64_t stride = lattice_.stride(f);
    uint32_t count = 0;
    for (uint32_t c = 0; c < chips_.size(); c++) {
      if (c / stride % d.size != 0) continue;
      const bool inside = d.size * stride <= room_.chips_per_host;
      const NodeId in = inside ? hosts_[room_.host_of(c)] : 0;
      const NodeId fabric = graph_.add(Kind::fabric_switch, in, fmt::format("switch {}", count++));
      for (uint32_t i = 0; i < d.size && c + i * stride < chips_.size(); i++)
        graph_.link({chips_[c + i * stride], fabric, LinkKind::chip, 1, d.latency_s / 2, d.bytes_per_s,
                     d.bytes_per_s});
    }
  }

  void join_hosts() {
    if (room_.nics_per_host == 0 || (room_.hosts < 2 && room_.tiers.empty())) return;
    std::vector<Group> groups;
    const double latency = room_.nic_latency_s, rate = room_.nic_bytes_per_s;
    const Tier all{.below = kMostHosts, .switches = 1, .oversubscription = 1, .latency_s = 0};
    const std::vector<Tier> tiers = room_.tiers.empty() ? std::vector<Tier>{all} : room_.tiers;
    const uint32_t below = tiers[0].below;
    for (uint32_t first = 0; first < room_.hosts; first += below) {
      const uint32_t end = uint32_t(std::min<uint64_t>(room_.hosts, uint64_t(first) + below));
      const NodeId leaf = add_switch(tiers[0], "leaf", groups.size());
      for (uint32_t n = first * room_.nics_per_host; n < end * room_.nics_per_host; n++)
        graph_.link({nics_[n], leaf, LinkKind::network, 1, latency, rate, rate});
      groups.push_back(
          {{leaf}, double(end - first) * room_.nics_per_host * rate / tiers[0].oversubscription});
      if (graph_.size() >= kMostNodes) return;
    }
    for (size_t t = 1; t < tiers.size(); t++) groups = join_groups(groups, tiers[t], t + 1 == tiers.size());
  }

  NodeId add_switch(const Tier& tier, std::string_view name, size_t number) {
    const NodeId id = graph_.add(Kind::network_switch, 0, fmt::format("{} {}", name, number));
    graph_.at(id).latency_s = tier.latency_s;
    return id;
  }

  // Each switch of a group below goes up to its share of the switches above.
  std::vector<Group> join_groups(const std::vector<Group>& lower, const Tier& tier, bool last) {
    std::vector<Group> upper;
    size_t number = 0;
    for (size_t first = 0; first < lower.size(); first += tier.below) {
      Group group;
      for (uint32_t s = 0; s < tier.switches; s++)
        group.switches.push_back(add_switch(tier, last ? "spine" : "aggregation", number++));
      for (size_t i = first; i < std::min<size_t>(lower.size(), first + tier.below); i++) {
        join_group(lower[i], group);
        group.up_bytes_per_s += lower[i].up_bytes_per_s / tier.oversubscription;
      }
      upper.push_back(std::move(group));
    }
    return upper;
  }
  void join_group(const Group& lower, const Group& upper) {
    const size_t below = lower.switches.size(), above = upper.switches.size(),
                 cables = std::max(below, above);
    const double rate = lower.up_bytes_per_s / double(cables);
    for (size_t i = 0; i < cables; i++)
      graph_.link({lower.switches[i * below / cables], upper.switches[i * above / cables], LinkKind::network,
                   1, kNicLatencyS / 2, rate, rate});
  }

  const Room& room_;
  Lattice lattice_;
  GraphBuilder graph_;
  std::vector<NodeId> hosts_, chips_, nics_;
  NodeId rack_ = 0;
};

}  // namespace

Result<Graph> expand(const Room& room) {
  const uint64_t parts =
      uint64_t(room.chips_per_host) + room.nics_per_host + room.cores_per_host + room.sockets_per_host + 2;
  if (parts * room.hosts >= kMostNodes)
    return Status(Code::unsupported,
                  fmt::format("{} hosts of {} parts: drawn and listed are rooms of at most {} nodes",
                              room.hosts, parts, kMostNodes));
  uint64_t links = 0;
  for (const Factor& f : room.factors) {
    const uint64_t each = f.kind == FactorKind::full ? f.size - 1 : f.kind == FactorKind::cube_mesh ? 4 : 2;
    links += room.chips() * each / 2;
  }
  if (links >= kMostLinks)
    return Status(Code::unsupported,
                  fmt::format("{} links between chips: {} are the most of one drawing", links, kMostLinks));
  return Expansion(room).run();
}

}  // namespace plait::topology
