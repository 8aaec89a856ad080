#include "sim/room_network.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "sim/tiers.h"
#include "topology/levels.h"

namespace plait::sim {

namespace {

using topology::Factor;
using topology::FactorKind;
using topology::Lattice;

// The NIC of each chip of a host, alike in all hosts.
Result<std::vector<uint32_t>> nics_of_host(const topology::Room& room) {
  topology::Room one;
  one.chips_per_host = room.chips_per_host;
  one.nics_per_host = room.nics_per_host;
  one.sockets_per_host = room.sockets_per_host;
  one.nic_bytes_per_s = room.nic_bytes_per_s;
  auto graph = topology::expand(one);
  if (!graph.ok()) return graph.status();
  std::vector<uint32_t> nics;
  for (const topology::Way& way : topology::rails(*graph)) nics.push_back(graph->node(way.nic).index);
  return nics;
}

// Hosts reach each other by switches.
bool has_network(const topology::Room& r) { return r.nics_per_host > 0 && (r.hosts > 1 || !r.tiers.empty()); }

// Links of a chip along a dimension, each of which leads from it, but one of two to a switch.
uint32_t slots_of(const Factor& f) {
  switch (f.kind) {
    case FactorKind::full:
      return f.size - 1;
    case FactorKind::cube_mesh:
      return 4;
    default:
      return 2;
  }
}

// Numbers, in this order. Nodes: places, hosts (where chips need them), switches of chips, switches of hosts.
// Links: of each place its slots, then two between each and its host, then those of tiers.
class RoomNetwork final : public Network {
 public:
  RoomNetwork(const topology::Room& room, std::vector<uint32_t> nics)
      : room_(room), lattice_(room.factors), nics_(std::move(nics)) {
    const bool chips = room.chips_per_host > 0;
    places_ = chips ? room.chips() : room.hosts;
    inside_ = chips && (room.factors.empty() || has_network(room));
    uint64_t nodes = places_ + (inside_ ? room.hosts : 0);
    for (const Factor& f : room.factors) {
      slot_at_.push_back(slots_);
      slots_ += slots_of(f);
      switches_at_.push_back(nodes);
      if (f.kind == FactorKind::switched) nodes += places_ / f.size;
    }
    inside_at_ = places_ * slots_;
    links_ = inside_at_ + (inside_ ? 2 * places_ : 0);
    tiers_at_ = links_;
    tier_nodes_at_ = nodes;
    if (has_network(room)) {
      const uint32_t count = chips ? room.nics_per_host : 1;
      const double rate = room.nic_bytes_per_s * (chips ? 1 : room.nics_per_host);
      tiers_.emplace_back(room, count, rate, int32_t(chips ? places_ : 0));
      nodes += tiers_[0].nodes();
      links_ += tiers_[0].links();
    }
    nodes_ = nodes;
  }
  // What is too much may be asked for; nothing else is called then.
  bool fits() const { return nodes_ < INT32_MAX && links_ <= kMostRoomLinks; }
  bool joined() const { return tiers_.empty() || tiers_[0].joined(); }

  int32_t terminals() const override { return int32_t(places_); }
  int32_t nodes() const override { return int32_t(nodes_); }
  uint32_t links() const override { return uint32_t(links_); }
  bool forwards(int32_t node) const override { return uint64_t(node) >= places_ || !room_.factors.empty(); }

  std::string name(int32_t node) const override {
    const auto n = uint64_t(node);
    if (n < places_) return std::to_string(n);
    if (n >= tier_nodes_at_) return tiers_[0].name(n - tier_nodes_at_);
    if (inside_ && n < places_ + room_.hosts) return fmt::format("host {}", n - places_);
    return fmt::format("switch {}", n - places_ - (inside_ ? room_.hosts : 0));
  }

  Link link(uint32_t number) const override {
    if (number >= tiers_at_) return tiers_[0].link(number - tiers_at_, int32_t(tier_nodes_at_));
    if (number < inside_at_) return chip_link(number / slots_, number % slots_);
    const uint64_t chip = (number - inside_at_) / 2;
    Link l{int32_t(chip), int32_t(places_ + room_.host_of(chip)), kInsideBytesPerS, kInsideLatencyS};
    if ((number - inside_at_) % 2 == 1) std::swap(l.from, l.to);
    return l;
  }

  void route(int32_t from, int32_t to, std::vector<uint32_t>& links) const override {
    const auto a = uint64_t(from), b = uint64_t(to);
    if (a == b) return;
    if (!room_.factors.empty() && a / lattice_.size() == b / lattice_.size()) return cross(a, b, links);
    if (room_.chips_per_host == 0) return tiers_[0].route(uint32_t(a), uint32_t(b), first_tier(), links);
    if (!inside_) return;
    links.push_back(uint32_t(inside_at_ + 2 * a));
    if (room_.host_of(a) != room_.host_of(b) && !tiers_.empty())
      tiers_[0].route(nic_of(a), nic_of(b), first_tier(), links);
    links.push_back(uint32_t(inside_at_ + 2 * b + 1));
  }

 private:
  uint32_t first_tier() const { return uint32_t(tiers_at_); }
  uint32_t nic_of(uint64_t chip) const {
    return uint32_t(room_.host_of(chip) * room_.nics_per_host + nics_[chip % room_.chips_per_host]);
  }
  // The switch of a chip's line along a dimension.
  uint64_t switch_of(uint64_t chip, size_t f) const {
    const uint64_t stride = lattice_.stride(f);
    return switches_at_[f] + chip / (stride * lattice_.factors()[f].size) * stride + chip % stride;
  }
  // A chip whose coordinate along a dimension is another.
  uint64_t moved(uint64_t chip, size_t f, uint32_t to) const {
    return chip - lattice_.coordinate(chip, f) * lattice_.stride(f) + to * lattice_.stride(f);
  }

  Link chip_link(uint64_t chip, uint32_t slot) const {
    size_t f = slot_at_.size() - 1;
    while (slot_at_[f] > slot) f--;
    slot -= slot_at_[f];
    const Factor& d = lattice_.factors()[f];
    const uint32_t at = lattice_.coordinate(chip, f), size = d.size;
    Link l{int32_t(chip), -1, d.bytes_per_s, d.latency_s};
    switch (d.kind) {
      case FactorKind::switched:
        l.to = int32_t(switch_of(chip, f));
        l.latency /= 2;
        if (slot == 1) std::swap(l.from, l.to);
        return l;
      case FactorKind::full:
        l.to = int32_t(moved(chip, f, (at + 1 + slot) % size));
        return l;
      case FactorKind::cube_mesh:
        l.to = int32_t(moved(chip, f, slot == 3 ? at ^ 4 : at / 4 * 4 + (at + 1 + slot) % 4));
        return l;
      default:
        break;
    }
    const bool edge = slot == 0 ? at + 1 == size : at == 0;
    if (size == 1 || (edge && d.kind == FactorKind::line)) return {};
    l.to = int32_t(moved(chip, f, (at + (slot == 0 ? 1 : size - 1)) % size));
    return l;
  }

  void cross(uint64_t a, uint64_t b, std::vector<uint32_t>& links) const {
    for (size_t f = lattice_.factors().size(); f-- > 0;) {
      const uint32_t at = lattice_.coordinate(a, f), to = lattice_.coordinate(b, f);
      if (at != to) along(a, f, at, to, links);
      a = moved(a, f, to);
    }
  }
  void along(uint64_t chip, size_t f, uint32_t at, uint32_t to, std::vector<uint32_t>& links) const {
    const Factor& d = lattice_.factors()[f];
    auto push = [&](uint64_t from, uint32_t slot) {
      links.push_back(uint32_t(from * slots_ + slot_at_[f] + slot));
    };
    switch (d.kind) {
      case FactorKind::switched:
        push(chip, 0);
        return push(moved(chip, f, to), 1);
      case FactorKind::full:
        return push(chip, (to + d.size - at - 1) % d.size);
      case FactorKind::cube_mesh:
        if (at % 4 != to % 4) push(chip, (to % 4 + 3 - at % 4) % 4);
        if (at / 4 != to / 4) push(moved(chip, f, at / 4 * 4 + to % 4), 3);
        return;
      default:
        break;
    }
    const uint32_t upward = (to + d.size - at) % d.size;
    const bool up = d.kind == FactorKind::line ? to > at : 2 * upward <= d.size;
    for (; at != to; at = (at + (up ? 1 : d.size - 1)) % d.size) push(moved(chip, f, at), up ? 0 : 1);
  }

  const topology::Room room_;
  const Lattice lattice_;
  const std::vector<uint32_t> nics_;
  std::vector<uint32_t> slot_at_;  // of each dimension
  std::vector<uint64_t> switches_at_;
  uint64_t places_ = 0, nodes_ = 0, links_ = 0, inside_at_ = 0, tiers_at_ = 0, tier_nodes_at_ = 0;
  uint32_t slots_ = 0;
  bool inside_ = false;
  std::vector<Tiers> tiers_;  // one, or none
};

// All links of what is dead.
std::vector<uint32_t> dead_links(const topology::Room& room, const Network& network) {
  std::vector<uint32_t> cut;
  if (room.dead_chips.empty() && room.dead_hosts.empty() && room.dead_links.empty()) return cut;
  const bool chips = room.chips_per_host > 0;
  const int32_t places = network.terminals();
  const bool hosts = chips && network.nodes() > places && network.name(places) == "host 0";
  auto is_dead = [&](int32_t node) {
    if (node < 0) return false;
    if (chips && node < places) return room.is_dead(uint32_t(node));
    const int32_t host = chips ? node - places : node;
    return (hosts || !chips) && host < int32_t(room.hosts) &&
           std::binary_search(room.dead_hosts.begin(), room.dead_hosts.end(), uint32_t(host));
  };
  for (uint32_t i = 0; i < network.links(); i++) {
    const Link l = network.link(i);
    const bool between = chips && l.from >= 0 && l.from < places && l.to < places;
    if (is_dead(l.from) || is_dead(l.to) || (between && room.is_dead_link(uint32_t(l.from), uint32_t(l.to))))
      cut.push_back(i);
  }
  return cut;
}

}  // namespace

Result<std::unique_ptr<Network>> room_network(const topology::Room& room) {
  const uint64_t places = room.chips_per_host > 0 ? room.chips() : room.hosts;
  if (places > kMostPlaces)
    return Status(Code::unsupported,
                  fmt::format("{} places: a simulation has at most {}", places, kMostPlaces));
  std::vector<uint32_t> nics;
  if (room.chips_per_host > 0 && has_network(room)) {
    auto of_host = nics_of_host(room);
    if (!of_host.ok()) return of_host.status();
    nics = std::move(*of_host);
  }
  auto network = std::make_unique<RoomNetwork>(room, std::move(nics));
  if (!network->fits())
    return Status(Code::unsupported,
                  fmt::format("more than {} links: too many for a simulation", kMostRoomLinks));
  if (!network->joined()) return Status(Code::invalid, "the uppermost switches do not join all hosts");
  const std::vector<uint32_t> cut = dead_links(room, *network);
  if (cut.empty()) return std::unique_ptr<Network>(std::move(network));
  return around(std::move(network), cut);
}

}  // namespace plait::sim
