// Linear algorithms for collectives in which each member has a block of its own: everybody talks to the root
// or, in an alltoall, to everybody else.
#pragma once

#include "collectives/builder.h"

namespace plait::collectives {

// Each member sends its block to the root: alpha + (n-1) o + (n-1)/n N beta, all on the root's link (o: what
// starting a message costs). The lower bound in bytes, whatever n. Chan, Heimlich, Purkayastha and van de
// Geijn, "Collective communication: theory, practice, and experience", Concurrency and Computation 19(13),
// 2007.
void linear_gather(Builder& b, const Group& g, int root, const Blocks& blocks, int lane = 0);

// The root sends each member its block: the same the other way round.
void linear_scatter(Builder& b, const Group& g, int root, const Blocks& blocks, int lane = 0);

}  // namespace plait::collectives
