// Recursive doubling: in round k each member exchanges all it has with the one 2^k away.
#pragma once

#include "collectives/builder.h"

namespace plait::collectives {

// log2 n (alpha + N beta + N gamma), the lowest latency of all that talk to few; two rounds more when n is no
// power of two. Keeps the order of members. Sums lie in fresh scratch each round, so that no round waits for
// a send to be over: needs no credits, other than the textbook form. Thakur, Rabenseifner and Gropp,
// "Optimization of collective communication operations in MPICH", IJHPCA 19(1), 2005.
void doubling_allreduce(Builder& b, const Group& g, Range range, int lane = 0);

// Block i of `blocks`, which member i holds, ends everywhere: log2 n alpha + (n-1)/n N beta; when n is no
// power of two, two rounds more, the last of nearly N bytes. The same paper.
void doubling_allgather(Builder& b, const Group& g, const Blocks& blocks, int lane = 0);

}  // namespace plait::collectives
