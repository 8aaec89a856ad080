// The steps of one rank of a composition, level by level.
#pragma once

#include <vector>

#include "collectives/builder.h"
#include "collectives/compose.h"

namespace plait::collectives {

class Composer {
 public:
  Composer(const Composition& composition, Builder& b, int rank, int root);

  // Appends all steps.
  void run();

 private:
  // The groups of one level in which a rank takes part; see hierarchy.h for units.
  struct Scope {
    int level, group, first, n, me;
    bool home;  // the root is one of the group's units, or below one
    int root;   // that member
    int leader;
  };
  class Owners;  // the members of a scope: the owners of the shards chosen below
  class Parts;   // what they own, in a reduce_scatter or allgather

  const Composition::Level& level(int l) const { return c_.levels_[size_t(l)]; }
  int shards(int l) const { return level(l).shards(h_.largest(l)); }
  Scope scope(int l, int unit) const;
  int leader(int l, int group) const;
  int owner(int l, int group) const;

  void climb(int l, int unit, Range range);
  void above(const Scope& s, Range range);
  void enter(const Scope& s, const Group& g, const Blocks& blocks);
  void leave(const Scope& s, const Group& g, const Blocks& blocks);
  void whole(const Scope& s, const Group& g, const Blocks& blocks);
  void append(const Algorithm* row, const Group& g, int root, const Blocks& blocks);

  const Composition& c_;
  const Hierarchy& h_;
  Builder& b_;
  int position_;
  std::vector<int> root_;   // at each level the unit that is the root or holds it; one more than levels
  std::vector<int> shard_;  // at each level the shard that the levels above work on
};

}  // namespace plait::collectives
