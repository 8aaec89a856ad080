// A group as a power of two of vertices, for algorithms that pair them up.
#pragma once

#include <bit>

#include "collectives/group.h"

namespace plait::collectives {

// With `extra` members too many, the first 2 extra members pair up: the even one of a pair is its vertex, the
// odd one takes part through it. Vertices are in the order of members.
struct Cube {
  int dims, size, extra;

  explicit Cube(int n) : dims(int(std::bit_width(unsigned(n))) - 1), size(1 << dims), extra(n - size) {}

  bool paired(int member) const noexcept { return member < 2 * extra; }
  bool takes_part(int member) const noexcept { return !paired(member) || member % 2 == 0; }
  int vertex(int member) const noexcept { return paired(member) ? member / 2 : member - extra; }
  // The first member of a vertex; its members are those before the first of the next one.
  int member(int vertex) const noexcept { return vertex < extra ? 2 * vertex : vertex + extra; }
  // The members of `count` vertices from `first` on.
  Ranges blocks(const Blocks& blocks, int first, int count) const {
    return blocks.of(member(first), member(first + count) - member(first));
  }
};

// For Algorithm::chunks.
inline uint32_t vertices(int n) { return std::bit_floor(unsigned(n)); }

}  // namespace plait::collectives
