// Hierarchies: one program made of an algorithm for each level of a machine room.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collectives/algorithms.h"
#include "collectives/hierarchy.h"

namespace plait::collectives {

// An allreduce, reduce_scatter, allgather, broadcast, reduce or barrier over a hierarchy. A level works in
// one of two ways, as its algorithm can:
//   sharded  Each member owns shards of the vector, as many as the largest group has members: reduce-scatter
//            within the group, the levels above for each shard among its owners, allgather on the way back.
//            Every member talks to other groups, for its shards only.
//   led      One member (the root, or the first one) takes part in the levels above for all: reduce, then
//            broadcast.
// The outermost level does the collective itself. Since it is one program, segments and chunks are at several
// levels at the same time. The cost is the sum of the levels' costs, each for the shard of a member.
class Composition {
 public:
  // `algorithms` names one of the table a level, innermost first: "ring/direct" is reduce-scatter and
  // allgather by a ring within hosts, a direct allreduce of each shard between them. "rabenseifner" is
  // recursive halving and recursive doubling where a level is sharded.
  // Code::unsupported: a collective that is not composed, or a level whose algorithm does not do what the
  // level is to do or does not accept the size of one of its groups. Code::invalid: not one name a level.
  static Result<Composition> make(Collective collective, std::string_view algorithms,
                                  std::shared_ptr<const Hierarchy> hierarchy);
  static Result<Composition> make(Collective collective, std::string_view algorithms, Hierarchy hierarchy) {
    return make(collective, algorithms, std::make_shared<const Hierarchy>(std::move(hierarchy)));
  }

  Collective collective() const noexcept { return collective_; }
  int n() const noexcept { return hierarchy_->n(); }
  int levels() const noexcept { return hierarchy_->levels(); }
  // Into how many chunks it cuts the vector: one a rank where the collective is parted().
  uint32_t chunks() const noexcept { return chunks_; }
  // As of Algorithm; alike in place and out of place. The most that one of its algorithms needs.
  uint8_t min_credits() const noexcept { return min_credits_; }
  bool rank_order() const noexcept { return rank_order_; }
  uint32_t lanes() const noexcept { return lanes_; }

  // The program of one rank, with lanes, min_credits and rank_order set. O(own steps + chunks).
  // Code::invalid: no such rank or root. Any thread.
  Result<Program> build(int rank, int root, bool in_place) const;

  // What it is made of, innermost level first: a row of the table, done by groups of up to `members`, each on
  // that share of the vector; so many of a group of the level below take part, each for a share of its own.
  struct Part {
    const Algorithm* row;
    int level, members;
    double share;
    int together;
  };
  std::vector<Part> parts() const;

 private:
  friend class Composer;

  // The rows of the table that a level may need; nullptr: there is none of that name.
  struct Level {
    bool sharded = false;
    const Algorithm *whole = nullptr, *reduce_scatter = nullptr, *allgather = nullptr, *scatter = nullptr,
                    *gather = nullptr, *reduce = nullptr, *broadcast = nullptr;
    // How many shards a vector is cut into.
    int shards(int largest) const noexcept { return sharded ? largest : 1; }
  };

  Composition(Collective collective, std::shared_ptr<const Hierarchy> hierarchy)
      : collective_(collective), hierarchy_(std::move(hierarchy)) {}
  Status add_level(int level, std::string_view name);
  Status find_rows(Level& level, std::string_view name) const;
  Status check_sizes(int level, std::string_view name) const;
  std::vector<const Algorithm*> used(const Level& level) const;
  Status sum_up();

  Collective collective_;
  std::shared_ptr<const Hierarchy> hierarchy_;
  std::vector<Level> levels_;
  int top_ = -1;  // the outermost level that has more than one unit
  uint32_t chunks_ = 1, lanes_ = 1;
  uint8_t min_credits_ = 0;
  bool rank_order_ = true;
};

}  // namespace plait::collectives
