// Alltoall: each rank has a block for each other. Chunk c is what travels c ranks far (collective.h).
#pragma once

#include "collectives/builder.h"

namespace plait::collectives {

// In each of n rounds the ranks pair up and exchange their blocks: (n-1) (alpha + N/n beta), for N bytes a
// rank; each byte moves once. In place, one of each pair receives by way of scratch, so that no credits are
// needed. Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
// IJHPCA 19(1), 2005.
void pairwise_alltoall(Builder& b, const Group& g, int lane = 0);

// ceil(log2 n) rounds: in round k every block that still has 2^k of its way to go moves on by 2^k, all of
// them as one message: log2 n (alpha + N/2 beta). For small blocks among many ranks. Blocks wait in scratch
// and go home in the end. Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-to-all
// communications in multiport message-passing systems", IEEE TPDS 8(11), 1997.
void bruck_alltoall(Builder& b, const Group& g, int lane = 0);

}  // namespace plait::collectives
