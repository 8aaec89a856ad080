// Who takes part and who owns what, without lists: a group or a split of 65,536 costs a few words (rule 11).
#pragma once

#include <cstdint>

#include "collectives/ranges.h"

namespace plait::collectives {

// The remainder that is never negative: mod(-1, 4) == 3.
constexpr int mod(int64_t a, int n) noexcept { return int((a % n + n) % n); }

// Members of a group whose ranks are no arithmetic progression.
class Members {
 public:
  virtual int rank(int member) const = 0;

 protected:
  ~Members() = default;
};

// The ranks base, base + stride, ... of which the one that builds is number `me`.
struct Group {
  int base = 0, stride = 1, count = 1, me = 0;
  // Instead of base and stride, where set; outlives the group.
  const Members* members = nullptr;
  // Member i is number i * step of the ranks: the same ones in another order. Coprime to count.
  int step = 1;

  int n() const noexcept { return count; }
  // The rank of member i; i wraps around, so at(me + 1) is the next one of a ring.
  int at(int i) const noexcept {
    int k = mod(int64_t{i} * step, count);
    return members ? members->rank(k) : base + k * stride;
  }
};

constexpr Group world(int n, int rank) noexcept { return {.base = 0, .stride = 1, .count = n, .me = rank}; }

// Part i of `parts` of a range of chunks. Parts are contiguous, cover the range and differ by at most one
// chunk.
constexpr Range part(Range all, int parts, int i) noexcept {
  auto cut = [&](int k) { return uint32_t(uint64_t{all.count} * uint32_t(k) / uint32_t(parts)); };
  return {all.first + cut(i), cut(i + 1) - cut(i)};
}

// Which of `shards` equal shards owner i of `owners` has: whole ones, contiguous; with fewer shards than
// owners some have none. owner_of is the inverse.
constexpr Range shards_of(int shards, int owners, int i) noexcept {
  auto cut = [&](int k) { return uint32_t((int64_t{k} * shards + owners - 1) / owners); };
  return {cut(i), cut(i + 1) - cut(i)};
}
constexpr int owner_of(int shards, int owners, int shard) noexcept {
  return int(int64_t{shard} * owners / shards);
}

// What each member of a group owns where that is no plain split.
class Owned {
 public:
  virtual Ranges block(int member) const = 0;

 protected:
  ~Owned() = default;
};

// The blocks of a vector, one a member of a group; computed on demand.
class Blocks {
 public:
  // Equal parts.
  constexpr Blocks(Range all, int parts) noexcept : Blocks(all, parts, parts) {}
  // Equal shards, of which each of `parts` members owns as many as shards_of() says.
  constexpr Blocks(Range all, int parts, int shards) noexcept : all_(all), parts_(parts), shards_(shards) {}
  // Whatever `owned` says, which outlives the blocks.
  Blocks(const Owned& owned, int parts) noexcept : parts_(parts), shards_(parts), owned_(&owned) {}

  // The block of member i, which wraps around as in Group::at.
  Ranges operator[](int i) const {
    return owned_ ? owned_->block(mod(i, parts_)) : contiguous(mod(i, parts_));
  }
  // Those of `count` members from `first` on, which wrap around.
  Ranges of(int first, int count) const {
    Ranges list;
    for (int i = 0; i < count; i++) list.add((*this)[first + i]);
    return list;
  }
  int size() const noexcept { return parts_; }
  // All of the vector, for algorithms to which it belongs as a whole. Only where blocks are contiguous.
  constexpr Range all() const noexcept { return all_; }

 private:
  constexpr Range contiguous(int i) const noexcept {
    Range mine = shards_of(shards_, parts_, i);
    auto cut = [&](uint32_t k) { return uint32_t(uint64_t{all_.count} * k / uint32_t(shards_)); };
    return {all_.first + cut(mine.first), cut(mine.first + mine.count) - cut(mine.first)};
  }

  Range all_;
  int parts_, shards_;
  const Owned* owned_ = nullptr;
};

constexpr Blocks split(Range all, int parts) noexcept { return {all, parts}; }

}  // namespace plait::collectives
