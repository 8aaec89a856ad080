// PAT, parallel aggregated trees: a binomial tree from every member at once, walked depth first, so that few
// partial results wait at any time.
#pragma once

#include "collectives/builder.h"

namespace plait::collectives {

// Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", 2025 (NCCL 2.23).
// `together`, a power of two: so many trees' blocks share a message, log2(together) + n/together messages in
// all: 1 for large blocks, n for small ones. Each block goes ceil(log2 n) hops:
// log2 n alpha + (n/together) o + (n-1)/n N beta (o: what starting a message costs).
void pat_allgather(Builder& b, const Group& g, const Blocks& blocks, int together, int lane = 0);

// The same the other way round, folding: + (n-1)/n N gamma. Partial sums of at most
// together * log2(n/together) blocks wait in scratch. The order of members is not kept.
void pat_reduce_scatter(Builder& b, const Group& g, const Blocks& blocks, int together, int lane = 0);

}  // namespace plait::collectives
