// Who takes part and who owns what, without lists: a group or a split of 65,536 costs a few words (rule 11).
#pragma once

#include <cstdint>

#include "collectives/program.h"

namespace plait::collectives {

// The remainder that is never negative: mod(-1, 4) == 3.
constexpr int mod(int a, int n) noexcept { return (a % n + n) % n; }

// The ranks base, base + stride, ... of which the one that builds is number `me`.
struct Group {
  int base = 0, stride = 1, count = 1, me = 0;

  int n() const noexcept { return count; }
  // The rank of member i; i wraps around, so at(me + 1) is the next one of a ring.
  int at(int i) const noexcept { return base + mod(i, count) * stride; }
};

constexpr Group world(int n, int rank) noexcept { return {.base = 0, .stride = 1, .count = n, .me = rank}; }

// Part i of `parts` of a range of chunks. Parts are contiguous, cover the range and differ by at most one
// chunk.
constexpr Range part(Range all, int parts, int i) noexcept {
  auto cut = [&](int k) { return uint32_t(uint64_t{all.count} * uint32_t(k) / uint32_t(parts)); };
  return {all.first + cut(i), cut(i + 1) - cut(i)};
}

// A range of chunks in blocks, one a member of a group; computed on demand.
class Blocks {
 public:
  constexpr Blocks(Range all, int parts) noexcept : all_(all), parts_(parts) {}
  // The block of member i, which wraps around as in Group::at.
  constexpr Range operator[](int i) const noexcept { return part(all_, parts_, mod(i, parts_)); }
  constexpr int size() const noexcept { return parts_; }

 private:
  Range all_;
  int parts_;
};

constexpr Blocks split(Range all, int parts) noexcept { return {all, parts}; }

}  // namespace plait::collectives
