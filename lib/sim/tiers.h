// The switches between the hosts of a room, by rule: NICs, leaves, and what is above them.
#pragma once

#include <string>
#include <vector>

#include "sim/network.h"
#include "topology/room.h"

namespace plait::sim {

// As topology::expand() makes them, with nothing stored for a host. A cable is two links; a link that leads
// into a switch has that switch's latency besides its own.
class Tiers {
 public:
  // `nics` a host, of `bytes_per_s` each, at the nodes from `hosts_at` on. Its own nodes and links are
  // numbered from 0.
  Tiers(const topology::Room& room, uint32_t nics, double bytes_per_s, int32_t hosts_at);

  uint64_t nodes() const noexcept { return nodes_; }
  uint64_t links() const noexcept { return links_; }
  // All hosts meet at the top.
  bool joined() const noexcept { return levels_.back().groups == 1; }
  std::string name(uint64_t node) const;
  // `at`: the number that the first of these nodes has in the network.
  Link link(uint64_t number, int32_t at) const;
  // From one NIC to another of another host, both numbered through all hosts. Upward the destination's number
  // says which switch, so a NIC is always reached the same way (d-mod-k).
  void route(uint32_t from, uint32_t to, uint32_t first_link, std::vector<uint32_t>& links) const;

 private:
  struct Level {
    uint64_t groups = 0, switches = 1, span = 1;  // span: hosts of a group
    double latency = 0;
    // Between a group of the level below and its own above it; of level 0: none.
    uint64_t cables = 0;
    double share = 1;  // what its hosts' NICs have, over what the group may send upward
    uint64_t nodes_at = 0, links_at = 0;
  };
  double up(size_t level, uint64_t group) const noexcept;

  uint64_t hosts_, nics_;
  double bytes_per_s_, latency_;
  int32_t hosts_at_;
  std::vector<Level> levels_;
  uint64_t nodes_ = 0, links_ = 0;
};

}  // namespace plait::sim
