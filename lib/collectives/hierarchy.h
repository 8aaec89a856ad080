// Who is near whom: ranks in groups (of a host), these in groups (of a rack), and so on, of any sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"

namespace plait::collectives {

// Immutable. Positions 0..n-1 number the ranks such that each group has adjacent ones. A group of level l
// consists of units of level l: these are positions for l == 0, groups of level l-1 above; units and groups
// of a level are numbered from 0. A level whose groups are all alike costs a few words, others a word a
// group.
class Hierarchy {
 public:
  // sizes[l]: of how many units each group of level l consists, in order; a single number: each of as many.
  // Level 0 is the innermost one, the last one is a single group. order: the rank at each position, as a
  // physical ring or round-robin placement has it; empty: rank r is at position r.
  // Code::invalid when sizes do not fit together, or order is no permutation.
  static Result<Hierarchy> make(std::vector<std::vector<int>> sizes, std::vector<int32_t> order = {});

  int n() const noexcept { return n_; }
  int levels() const noexcept { return int(levels_.size()); }
  // Units of the largest group of a level.
  int largest(int level) const noexcept { return levels_[size_t(level)].largest; }
  int groups(int level) const noexcept { return levels_[size_t(level)].groups; }

  // All groups of the level are of one size.
  bool alike(int level) const noexcept { return levels_[size_t(level)].begin.empty(); }

  int size(int level, int group) const noexcept { return first(level, group + 1) - first(level, group); }
  // The first unit of a group.
  int first(int level, int group) const noexcept {
    const Level& l = levels_[size_t(level)];
    return l.begin.empty() ? group * l.largest : l.begin[size_t(group)];
  }
  int group_of(int level, int unit) const noexcept;

  int rank_at(int position) const noexcept { return order_.empty() ? position : order_[size_t(position)]; }
  int position_of(int rank) const noexcept { return order_.empty() ? rank : positions_[size_t(rank)]; }
  // Ranks are at the positions of their numbers.
  bool in_order() const noexcept { return order_.empty(); }

 private:
  struct Level {
    int largest = 1, groups = 1;
    std::vector<int> begin;  // the first unit of each group, and the end; empty: all groups are alike
  };
  Status add_level(const std::vector<int>& sizes, int groups);
  Status set_order(std::vector<int32_t> order);

  std::vector<Level> levels_;
  std::vector<int32_t> order_, positions_;
  int n_ = 1;
};

}  // namespace plait::collectives
