// Star algorithms: one member, the root, talks to each of the others.
#pragma once

#include "collectives/builder.h"

namespace plait::collectives {

// The root sends `range` to everybody: alpha + (n-1) o + (n-1) N beta, all on the root's link; n-1 readers of
// one memory where ranks share it. The flat tree of Chan, Heimlich, Purkayastha and van de Geijn, "Collective
// communication: theory, practice, and experience", Concurrency and Computation 19(13), 2007.
void star_broadcast(Builder& b, const Group& g, int root, Range range, int lane = 0);

// Everybody sends `range` to the root, which folds it in the order of members: alpha + (n-1) o + (n-1) N beta
// + (n-1) N gamma, all at the root. Needs no scratch, whatever n.
void star_reduce(Builder& b, const Group& g, int root, Range range, int lane = 0);

// Both at member 0, "master and worker": 2 alpha + 2(n-1) o + 2(n-1) N beta + (n-1) N gamma.
void star_allreduce(Builder& b, const Group& g, Range range, int lane = 0);

}  // namespace plait::collectives
