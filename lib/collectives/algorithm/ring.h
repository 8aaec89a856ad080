// Ring algorithms: each rank talks to its two neighbours only.
#pragma once

#include "collectives/builder.h"

namespace plait::collectives {

// Block i of `blocks` ends, folded, at member i.
//   n-1 rounds: (n-1) alpha + (n-1)/n N beta + (n-1)/n N gamma. Bandwidth-optimal; the order of ranks is not
//   kept.
void ring_reduce_scatter(Builder& b, const Group& g, const Blocks& blocks, int lane = 0);

// Block i of `blocks`, which member i holds, ends everywhere.
//   n-1 rounds: (n-1) alpha + (n-1)/n N beta.
void ring_allgather(Builder& b, const Group& g, const Blocks& blocks, int lane = 0);

// One after the other: 2(n-1) alpha + 2(n-1)/n N beta + (n-1)/n N gamma.
// Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69(2),
// 2009.
void ring_allreduce(Builder& b, const Group& g, Range range, int lane = 0);

}  // namespace plait::collectives
