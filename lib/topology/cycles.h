// Searches for cycles of a given length among some chips of a fabric, and what bounds them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "topology/fabric.h"

namespace plait::topology {

// Which chips may be used, by number.
using Allowed = std::vector<bool>;

// No cycle is longer than this: the largest two-connected part, of which a bipartite one has as many on
// either side. `why` says what holds it down.
struct CycleBound {
  uint32_t most = 0;
  bool bipartite = false;  // all cycles are even
  std::string why;
};
CycleBound bound_cycle(const Fabric& fabric, const Allowed& allowed);

// Calls `found` with every simple cycle of `length` chips, each once, until it returns false. Returns whether
// the search ended by itself, within `effort` steps, which are taken from it.
bool each_cycle(const Fabric& fabric, const Allowed& allowed, uint32_t length, uint64_t& effort,
                const std::function<bool(const std::vector<uint32_t>&)>& found);

// A cycle of `length`, or the longest that was found, by growing small ones at random from a fixed seed.
std::vector<uint32_t> grow_cycle(const Fabric& fabric, const Allowed& allowed, uint32_t length,
                                 uint64_t effort);

}  // namespace plait::topology
