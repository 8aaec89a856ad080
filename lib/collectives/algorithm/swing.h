// Swing: halving and doubling whose partners are near on a ring or torus: 1, 1, 3, 5, 11... members away, in
// turn to the right and to the left. Powers of two only.
#pragma once

#include "collectives/builder.h"

namespace plait::collectives {

// De Sensi, Bonato, Saam and Hoefler, "Swing: short-cutting rings for higher bandwidth allreduce", NSDI 2024.
// The cost of rabenseifner_allreduce, with less contention where the network is a torus; the order of members
// is not kept.
void swing_allreduce(Builder& b, const Group& g, Range range, int lane = 0);

// Its halves. Blocks that travel together are not contiguous, as members must end with their own: up to n/2
// pieces a message.
void swing_reduce_scatter(Builder& b, const Group& g, const Blocks& blocks, int lane = 0);
void swing_allgather(Builder& b, const Group& g, const Blocks& blocks, int lane = 0);

// How far, and in which direction, an even member's partner of round k is; an odd one's is on the other side:
// 1, -1, 3, -5, 11...
constexpr int swing_distance(int k) noexcept { return (1 - (k % 2 ? 1 : -1) * (2 << k)) / 3; }
constexpr int swing_partner(int member, int k, int n) noexcept {
  return mod(member % 2 ? member - swing_distance(k) : member + swing_distance(k), n);
}

}  // namespace plait::collectives
