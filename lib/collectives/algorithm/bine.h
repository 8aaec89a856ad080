// Bine ("binomial negabinary") trees and butterflies: those of powers of two, with partners as near as
// Swing's and blocks that stay together. Powers of two only.
#pragma once

#include "collectives/builder.h"

namespace plait::collectives {

// De Sensi et al., "Bine trees: enhancing collective operations by optimizing communication locality", SC
// 2025. Partners of round k are swing_distance(k) apart, the farthest first, and who is reached through a
// member is an interval around it: a third less bytes between racks than a binomial tree, at its cost.
void bine_broadcast(Builder& b, const Group& g, int root, Range range, int lane = 0);
void bine_reduce(Builder& b, const Group& g, int root, Range range, int lane = 0);
void bine_gather(Builder& b, const Group& g, int root, const Blocks& blocks, int lane = 0);
void bine_scatter(Builder& b, const Group& g, int root, const Blocks& blocks, int lane = 0);

// The butterfly: log2 n alpha + (n-1)/n N (beta + gamma), at most two pieces a message. The order of members
// is not kept.
void bine_reduce_scatter(Builder& b, const Group& g, const Blocks& blocks, int lane = 0);
// log2 n alpha + (n-1)/n N beta.
void bine_allgather(Builder& b, const Group& g, const Blocks& blocks, int lane = 0);
// One after the other.
void bine_allreduce(Builder& b, const Group& g, Range range, int lane = 0);

}  // namespace plait::collectives
