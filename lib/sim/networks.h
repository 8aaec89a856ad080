// Networks by rule: no tables, so that 65,536 places cost nothing to describe.
#pragma once

#include <memory>
#include <vector>

#include "sim/network.h"

namespace plait::sim {

// What a cable moves in each direction, and how long a byte is under way in it.
struct Cable {
  double capacity = 12.5e9;  // bytes a second
  double latency = 1e-6;
};

// `n` places and nothing between them that costs anything: endpoints decide.
std::unique_ptr<Network> ideal_network(int32_t n);

// Places in a grid, the first size changing fastest, with a cable to each neighbour; `wraps`: a torus. A
// message crosses the first dimension, then the second, and so on; in a torus the shorter way round, of two
// alike the upward one. A ring is a torus of one dimension; where a dimension has two places, a torus has two
// cables between them.
std::unique_ptr<Network> lattice(std::vector<int32_t> sizes, bool wraps, Cable cable);

// Eight places, four cables each: two fully connected squares, each corner joined with the other's. A message
// to another corner of the other square crosses its own square first.
std::unique_ptr<Network> hybrid_cube_mesh(Cable cable);

// Hosts of chips behind leaves of a leaf-spine network.
struct Clos {
  int32_t leaves = 1, hosts = 1, chips = 1, nics = 1;  // hosts a leaf, chips and NICs a host
  Cable inside{100e9, 5e-7};                           // of each chip, into its host
  Cable nic{12.5e9, 1e-6};                             // of each NIC, to its leaf
  double oversubscribed = 1;  // what a leaf's hosts can send, by what it sends upward
  double leaf_capacity = 0;   // bytes a second that a leaf moves in all; 0: what its ports move
};
// Chips of a host reach each other through its inside, other hosts through the NIC of their number among the
// host's chips. Upward a leaf takes the spine that the destination's NIC says (d-mod-k), so a NIC is always
// reached the same way.
std::unique_ptr<Network> clos(const Clos& clos);

}  // namespace plait::sim
