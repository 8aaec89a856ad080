// Two trees over all chips of a fabric, for the two halves of a vector, that share as few links as can be.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "topology/fabric.h"

namespace plait::topology {

struct Tree {
  uint32_t root = 0;
  uint32_t depth = 0;            // links from the root to the farthest chip
  std::vector<uint32_t> parent;  // of each chip; kNone: of the root, and of chips that do not work
};

struct DoubleTree {
  std::vector<Tree> trees;  // two; none where the chips hang not together
  uint32_t shared = 0;      // links that both use, beyond those side by side: no two trees share fewer
  std::string why;          // there are none, or some are shared
};
DoubleTree double_tree(const Fabric& fabric);

// Empty where it is what DoubleTree promises but the fewest; otherwise what is wrong.
std::string check_trees(const Fabric& fabric, const DoubleTree& trees);

}  // namespace plait::topology
