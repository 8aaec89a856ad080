// Rings through all chips of a fabric that share no link, so that each can run at the full rate of its links.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/fabric.h"

namespace plait::topology {

// The chips in order; the last is joined with the first.
using Cycle = std::vector<uint32_t>;

struct Rings {
  std::vector<Cycle> cycles;  // through all chips that work, no link used twice (counting links side by side)
  uint32_t bound = 0;         // no more than so many can exist
  // `cycles` are as many as there can be: the bound is met, or all was searched.
  bool proven = false;
  std::string why;  // there are fewer than the bound, or none
};
// `effort`: steps of search before it gives up.
Rings rings(const Fabric& fabric, uint64_t effort = 4'000'000);

// Cycles through all of a torus of two or three dimensions or more, as many as dimensions; empty: not found.
std::vector<Cycle> torus_rings(const Lattice& lattice);
// Through all of a full mesh of n, (n - 1) / 2 of them.
std::vector<Cycle> full_rings(uint32_t n);
// One through all of a product of lines; empty: there is none, as it is odd or a line.
Cycle mesh_ring(const Lattice& lattice);

// Empty where `cycles` are what Rings promises; otherwise what is wrong.
std::string check_rings(const Fabric& fabric, const std::vector<Cycle>& cycles);

}  // namespace plait::topology
