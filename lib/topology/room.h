// A room of machines described by rule: hosts all alike, chips in regular shapes, tiers of switches, and
// holes. Asking costs no more at 65,536 hosts than at two. docs/topology.md tells its text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "topology/fabric.h"
#include "topology/graph.h"
#include "topology/lattice.h"

namespace plait::topology {

// A level of switches: each group of `below` hosts, or of groups of the tier below, has `switches`.
struct Tier {
  uint32_t below = 1, switches = 1;
  double oversubscription = 1;  // what comes from below over what goes up
  double latency_s = 0;         // through a switch
  bool operator==(const Tier&) const = default;
};

struct Room {
  uint32_t hosts = 1;
  uint32_t chips_per_host = 0, nics_per_host = 0, sockets_per_host = 1, cores_per_host = 0;
  double nic_bytes_per_s = 0, nic_latency_s = 0;
  // Of the links between chips, outermost first. The first `pod_factors` join hosts, chip by like chip.
  // Without such, either each host has all of this, or it goes across hosts that have consecutive chips.
  std::vector<Factor> factors;
  uint32_t pod_factors = 0;
  std::vector<Tier> tiers;  // none: one switch joins all that have NICs
  // Ascending, each once.
  std::vector<uint32_t> dead_chips, taken_chips, dead_hosts;
  std::vector<std::pair<uint32_t, uint32_t>> dead_links;  // first < second

  uint64_t chips() const noexcept { return uint64_t(hosts) * chips_per_host; }
  uint32_t host_of(uint64_t chip) const noexcept { return uint32_t(chip / chips_per_host); }
  bool is_dead(uint32_t chip) const noexcept;
  bool is_taken(uint32_t chip) const noexcept;
  bool is_dead_link(uint32_t a, uint32_t b) const noexcept;
  bool operator==(const Room&) const = default;
};

// What a room may have; each is compared before anything is allocated for it.
inline constexpr uint32_t kMostHosts = 1u << 20, kMostChipsPerHost = 1024, kMostPartsPerHost = 1024;
inline constexpr uint64_t kMostChips = 1u << 24;
inline constexpr uint32_t kMostFactors = 6, kMostFull = 1024, kMostTiers = 4;

// What links have that the text gives no numbers for.
inline constexpr double kChipBytesPerS = 12.5e9, kChipLatencyS = 500e-9;
inline constexpr double kNicBytesPerS = 12.5e9, kNicLatencyS = 1e-6, kSwitchLatencyS = 300e-9;

// Code::invalid says what does not fit together.
Status check_room(const Room& room);

// The text form: "4 hosts x 2 nics 100Gb/s", "torus 4x4x4", "dead chip 5" ... Refused with "FILE:LINE: why".
Result<Room> parse_room(std::string_view text, const std::string& file);
// What parse_room reads as the same room.
std::string write_room(const Room& room);
// "4 hosts of 8 chips (hybrid cube mesh), 2 NICs each of 100 Gb/s".
std::string describe(const Room& room);

// All of it, node by node. Code::unsupported: more than a graph may have.
Result<Graph> expand(const Room& room);
// Its chips and their links, ready for searches. Code::unsupported: too many.
Result<Fabric> fabric_of(const Room& room);

}  // namespace plait::topology
