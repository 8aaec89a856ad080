// Direct algorithms: everybody talks to everybody, in one round. Folds are in the order of ranks and round
// once, so results depend on neither the algorithm's shape nor timing.
#pragma once

#include "collectives/builder.h"

namespace plait::collectives {

// Each member folds its own block of everybody's values, members 0..n-1 in this order, as one chain.
//   One round of n-1 messages: alpha + (n-1) o + (n-1)/n N beta + (n-1)/n N gamma (o: what starting a message
//   costs).
void direct_reduce_scatter(Builder& b, const Group& g, const Blocks& blocks, int lane = 0);

// Each member sends its block to everybody: alpha + (n-1) o + (n-1)/n N beta.
void direct_allgather(Builder& b, const Group& g, const Blocks& blocks, int lane = 0);

// One after the other, "the sharded master": 2 alpha + 2(n-1) o + 2(n-1)/n N beta + (n-1)/n N gamma.
// Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
// 19(1), 2005 (pairwise exchange); Jiang et al., "A unified architecture for accelerating distributed DNN
// training in heterogeneous GPU/CPU clusters", OSDI 2020 (every worker a parameter server of its share).
void direct_allreduce(Builder& b, const Group& g, Range range, int lane = 0);

// Each member sends all of `range` to everybody and folds everything itself: alpha + (n-1) o + (n-1) N beta +
// (n-1) N gamma. One message deep: the fastest for small messages among few ranks.
void all_to_all_allreduce(Builder& b, const Group& g, Range range, int lane = 0);

// Everybody sends `range` to the root, which folds the members' values 0..n-1 as one chain: alpha + (n-1) o +
// (n-1) N beta + (n-1) N gamma. The values lie next to each other before they are folded (where delivery is
// not mapped): n-1 times N of scratch, one segment at a time. Rounds once and gives the same bits as the
// other direct algorithms.
void direct_reduce(Builder& b, const Group& g, int root, Range range, int lane = 0);

}  // namespace plait::collectives
