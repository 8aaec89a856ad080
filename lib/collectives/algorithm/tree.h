// k-nomial trees: in each round everybody who has the value hands it to k-1 others.
#pragma once

#include "collectives/builder.h"

namespace plait::collectives {

// Below, k >= 2 is the arity: 2 is the binomial tree. The root's links carry (k-1) log_k n messages, leaves
// one. Chan, Heimlich, Purkayastha and van de Geijn, "Collective communication: theory, practice, and
// experience", Concurrency and Computation 19(13), 2007 (minimum spanning trees).

// ceil(log_k n) (alpha + (k-2) o + (k-1) N beta), o: what starting a message costs.
void tree_broadcast(Builder& b, const Group& g, int root, Range range, int k, int lane = 0);

// ceil(log_k n) (alpha + (k-2) o + (k-1) N beta + (k-1) N gamma). Keeps the order of members when the root is
// member 0.
void tree_reduce(Builder& b, const Group& g, int root, Range range, int k, int lane = 0);

// Both at member 0: the order of members is kept.
void tree_allreduce(Builder& b, const Group& g, Range range, int k, int lane = 0);

// Blocks of a whole subtree travel as one message: ceil(log_k n) (alpha + (k-2) o) + (n-1)/n N beta. Inner
// members hold their subtree's blocks.
void tree_gather(Builder& b, const Group& g, int root, const Blocks& blocks, int k, int lane = 0);
void tree_scatter(Builder& b, const Group& g, int root, const Blocks& blocks, int k, int lane = 0);

}  // namespace plait::collectives
