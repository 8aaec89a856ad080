#include "collectives/composer.h"

namespace plait::collectives {

class Composer::Owners final : public Members {
 public:
  Owners(const Composer& c, const Scope& s) : c_(c), s_(s) {}
  int rank(int member) const override {
    int unit = s_.first + member;
    for (int l = s_.level - 1; l >= 0; l--) unit = c_.h_.first(l, unit) + c_.owner(l, unit);
    return c_.h_.rank_at(unit);
  }

 private:
  const Composer& c_;
  const Scope& s_;
};

// Each rank's chunk is part of one shard a level: the first one that its unit owns there. A member answers
// for the chunks of which the shards chosen below are those of this scope and the shard of its level is its
// own.
class Composer::Parts final : public Owned {
 public:
  Parts(const Composer& c, const Scope& s) : c_(c), s_(s) {}
  Ranges block(int member) const override {
    Ranges list;
    Range owned = shards_of(c_.shards(s_.level), s_.n, member);
    collect(c_.c_.top_, 0, owned, list);
    return list;
  }

 private:
  void collect(int l, int group, Range owned, Ranges& list) const {
    int first = c_.h_.first(l, group), n = c_.h_.size(l, group), shards = c_.shards(l);
    int from = 0, end = n;
    if (l < s_.level) {
      from = owner_of(shards, n, c_.shard_[size_t(l)]);
      end = from + 1;
    }
    for (int i = from; i < end; i++) {
      auto shard = int(shards_of(shards, n, i).first);
      if (l < s_.level && shard != c_.shard_[size_t(l)]) continue;
      if (l == s_.level && (shard < int(owned.first) || shard >= int(owned.end()))) continue;
      if (l > 0) {
        collect(l - 1, first + i, owned, list);
      } else {
        list.add(Range{uint32_t(c_.h_.rank_at(first + i)), 1});
      }
    }
  }

  const Composer& c_;
  const Scope& s_;
};

Composer::Composer(const Composition& composition, Builder& b, int rank, int root)
    : c_(composition),
      h_(*composition.hierarchy_),
      b_(b),
      position_(h_.position_of(rank)),
      root_{h_.position_of(root)},
      shard_(size_t(h_.levels())) {
  for (int l = 0; l < h_.levels(); l++) root_.push_back(h_.group_of(l, root_.back()));
}

void Composer::run() { climb(0, position_, {0, c_.chunks()}); }

int Composer::leader(int l, int group) const {
  bool home = rooted(c_.collective_) && root_[size_t(l) + 1] == group;
  return home ? root_[size_t(l)] - h_.first(l, group) : 0;
}

// Which member of a group takes part in the levels above, for the shard chosen.
int Composer::owner(int l, int group) const {
  if (!level(l).sharded) return leader(l, group);
  return owner_of(shards(l), h_.size(l, group), shard_[size_t(l)]);
}

Composer::Scope Composer::scope(int l, int unit) const {
  Scope s{};
  s.level = l;
  s.group = h_.group_of(l, unit);
  s.first = h_.first(l, s.group);
  s.n = h_.size(l, s.group);
  s.me = unit - s.first;
  s.home = root_[size_t(l) + 1] == s.group;
  s.root = s.home ? root_[size_t(l)] - s.first : 0;
  s.leader = leader(l, s.group);
  return s;
}

void Composer::append(const Algorithm* row, const Group& g, int root, const Blocks& blocks) {
  b_.begin_stage();
  row->append(b_, g, root, blocks);
}

void Composer::climb(int l, int unit, Range range) {
  Scope s = scope(l, unit);
  Owners owners(*this, s);
  Parts parts(*this, s);
  Group g{.count = s.n, .me = s.me, .members = &owners};
  Blocks blocks = parted(c_.collective_) ? Blocks(parts, s.n) : Blocks(range, s.n, shards(l));
  b_.complete(l == c_.top_);
  if (l == c_.top_) return whole(s, g, blocks);
  enter(s, g, blocks);
  above(s, range);
  leave(s, g, blocks);
}

void Composer::above(const Scope& s, Range range) {
  if (!level(s.level).sharded) {
    if (s.me == s.leader) climb(s.level + 1, s.group, range);
    return;
  }
  Range mine = shards_of(shards(s.level), s.n, s.me);
  for (uint32_t shard = mine.first; shard < mine.end(); shard++) {
    shard_[size_t(s.level)] = int(shard);
    climb(s.level + 1, s.group, part(range, shards(s.level), int(shard)));
  }
}

// Before the levels above: what they need, at those who take part in them.
void Composer::enter(const Scope& s, const Group& g, const Blocks& blocks) {
  const auto& rows = level(s.level);
  switch (c_.collective_) {
    case Collective::allgather:
      return;
    case Collective::broadcast:
      if (rows.sharded && s.home) append(rows.scatter, g, s.root, blocks);
      return;
    default:
      append(rows.sharded ? rows.reduce_scatter : rows.reduce, g, s.leader, blocks);
  }
}

// After them: what they have made, to those who are to have it.
void Composer::leave(const Scope& s, const Group& g, const Blocks& blocks) {
  const auto& rows = level(s.level);
  switch (c_.collective_) {
    case Collective::reduce_scatter:
      return;
    case Collective::reduce:
      if (rows.sharded && s.home) append(rows.gather, g, s.root, blocks);
      return;
    default:
      append(rows.sharded ? rows.allgather : rows.broadcast, g, s.leader, blocks);
  }
}

// The outermost level: the collective itself, or its halves one after the other.
void Composer::whole(const Scope& s, const Group& g, const Blocks& blocks) {
  if (level(s.level).whole) return append(level(s.level).whole, g, s.root, blocks);
  enter(s, g, blocks);
  leave(s, g, blocks);
}

}  // namespace plait::collectives
