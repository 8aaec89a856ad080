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

// Cuts `range` into up to `rings` parts, each of which goes around a ring and on a lane of its own: the first
// along the members, the second against them, others in strides coprime to n. The cost of a ring on 1/rings
// of the bytes, where rings share no link; the rings of a full-duplex ring or of a torus. Fewer when n has no
// more strides. NCCL's channels; Jain and Sabharwal, "Optimal bucket algorithms for large MPI collectives on
// torus interconnects", ICS 2010.
void multi_ring_allreduce(Builder& b, const Group& g, Range range, int rings);

}  // namespace plait::collectives
