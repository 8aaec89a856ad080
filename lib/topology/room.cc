#include "topology/room.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "topology/units.h"

namespace plait::topology {
namespace {

bool has(const std::vector<uint32_t>& sorted, uint32_t value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}
std::string check_counts(const Room& r) {
  if (r.hosts < 1 || r.hosts > kMostHosts)
    return fmt::format("{} hosts: a room has 1 to {}", r.hosts, kMostHosts);
  if (r.chips_per_host > kMostChipsPerHost && r.hosts > 1)
    return fmt::format("{} chips a host: {} is the most", r.chips_per_host, kMostChipsPerHost);
  if (r.chips() > kMostChips) return fmt::format("{} chips: a room has at most {}", r.chips(), kMostChips);
  for (const uint32_t parts : {r.nics_per_host, r.sockets_per_host, r.cores_per_host}) {
    if (parts > kMostPartsPerHost)
      return fmt::format("{} NICs, sockets or cores a host: {} is the most", parts, kMostPartsPerHost);
  }
  if (r.sockets_per_host < 1) return "a host has a socket";
  if (!is_amount(r.nic_bytes_per_s) || !is_amount(r.nic_latency_s)) return "a NIC's rate or latency is none";
  return {};
}

std::string check_factor(const Factor& f) {
  const uint32_t least = f.kind == FactorKind::cycle ? 3 : 1;
  if (f.size < least || f.size > kMostChips) return fmt::format("a dimension of {} chips", f.size);
  if (f.kind == FactorKind::cube_mesh && f.size != 8) return "a hybrid cube mesh has 8 chips";
  if (f.kind == FactorKind::full && f.size > kMostFull)
    return fmt::format("{} chips each joined with each: {} is the most", f.size, kMostFull);
  if (!is_amount(f.bytes_per_s) || !is_amount(f.latency_s)) return "a link's rate or latency is none";
  return {};
}

std::string check_fabric(const Room& r) {
  if (r.factors.size() > kMostFactors || r.pod_factors > r.factors.size())
    return fmt::format("{} dimensions: {} is the most", r.factors.size(), kMostFactors);
  uint64_t all = 1, hosts = 1;
  for (size_t i = 0; i < r.factors.size(); i++) {
    if (std::string why = check_factor(r.factors[i]); !why.empty()) return why;
    all *= r.factors[i].size;
    if (i < r.pod_factors) hosts *= r.factors[i].size;
    if (all > kMostChips) return fmt::format("a shape of more than {} chips", kMostChips);
  }
  if (r.factors.empty()) return {};
  if (r.pod_factors > 0 && hosts != r.hosts)
    return fmt::format("the pod's shape has {} hosts, the room has {}", hosts, r.hosts);
  if (all != r.chips() && (all != r.chips_per_host || r.pod_factors > 0))
    return fmt::format("the shape has {} chips, a host has {}, and all {} hosts have {}", all,
                       r.chips_per_host, r.hosts, r.chips());
  return {};
}

std::string check_tiers(const Room& r) {
  if (r.tiers.size() > kMostTiers)
    return fmt::format("{} tiers of switches: {} is the most", r.tiers.size(), kMostTiers);
  if (!r.tiers.empty() && r.nics_per_host == 0)
    return "switches, and no host has a NIC: say '... hosts x 1 nics'";
  for (const Tier& t : r.tiers) {
    if (t.below < 1 || t.below > kMostHosts || t.switches < 1 || t.switches > 4096)
      return fmt::format("a tier with {} switches over groups of {}", t.switches, t.below);
    if (!(t.oversubscription >= 1 && t.oversubscription <= 1000) || !is_amount(t.latency_s))
      return "a switch is oversubscribed 1:1 to 1000:1";
  }
  return {};
}

std::string check_list(const std::vector<uint32_t>& list, uint64_t of, std::string_view what) {
  for (size_t i = 0; i < list.size(); i++) {
    if (list[i] >= of) return fmt::format("{} {} of {}, which are numbered from 0", what, list[i], of);
    if (i > 0 && list[i] <= list[i - 1]) return fmt::format("{}s out of order", what);
  }
  return {};
}

std::string check_holes(const Room& r) {
  for (std::string why :
       {check_list(r.dead_chips, r.chips(), "chip"), check_list(r.taken_chips, r.chips(), "chip"),
        check_list(r.dead_hosts, r.hosts, "host")}) {
    if (!why.empty()) return why;
  }
  const Lattice lattice(r.factors);
  for (size_t i = 0; i < r.dead_links.size(); i++) {
    const auto [a, b] = r.dead_links[i];
    if (a >= b || b >= r.chips()) return fmt::format("link {}-{} of {} chips", a, b, r.chips());
    const uint64_t n = lattice.size();
    if (r.factors.empty() || a / n != b / n || lattice.joining(a % n, b % n) == r.factors.size())
      return fmt::format("no link joins chips {} and {}", a, b);
    if (i > 0 && r.dead_links[i] <= r.dead_links[i - 1]) return "links out of order";
  }
  return {};
}

}  // namespace

bool Room::is_dead(uint32_t chip) const noexcept {
  return has(dead_chips, chip) || (!dead_hosts.empty() && has(dead_hosts, host_of(chip)));
}
bool Room::is_taken(uint32_t chip) const noexcept { return has(taken_chips, chip); }
bool Room::is_dead_link(uint32_t a, uint32_t b) const noexcept {
  return std::binary_search(dead_links.begin(), dead_links.end(), std::pair(std::min(a, b), std::max(a, b)));
}

Status check_room(const Room& room) {
  std::string why = check_counts(room);
  if (why.empty()) why = check_fabric(room);
  if (why.empty()) why = check_tiers(room);
  if (why.empty()) why = check_holes(room);
  return why.empty() ? Status() : Status(Code::invalid, why);
}

std::string describe(const Room& r) {
  std::string text = fmt::format("{} host{}", r.hosts, r.hosts == 1 ? "" : "s");
  if (r.chips_per_host > 0)
    text += fmt::format(" of {} chip{}", r.chips_per_host, r.chips_per_host == 1 ? "" : "s");
  if (!r.factors.empty()) text += fmt::format(" ({})", Lattice(r.factors).describe());
  if (r.nics_per_host > 0)
    text += fmt::format(", {} NIC{} each of {}", r.nics_per_host, r.nics_per_host == 1 ? "" : "s",
                        show_bit_rate(r.nic_bytes_per_s));
  const size_t dead = r.dead_chips.size() + r.dead_hosts.size() * r.chips_per_host;
  if (dead > 0) text += fmt::format(", {} chips dead", dead);
  if (!r.dead_links.empty()) text += fmt::format(", {} links dead", r.dead_links.size());
  if (!r.taken_chips.empty()) text += fmt::format(", {} chips taken", r.taken_chips.size());
  return text;
}

}  // namespace plait::topology
