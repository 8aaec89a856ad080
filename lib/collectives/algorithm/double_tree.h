// Two binary trees at once, each with half of the vector: who is an inner node of one is a leaf of the other,
// so that every link is busy in both directions.
#pragma once

#include "collectives/builder.h"

namespace plait::collectives {

// Sanders, Speck and Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
// Computing 35(12), 2009. The root stands above both trees; the trees are in-order, so that the order of
// members is kept where the root is member 0. Each tree has a lane of its own. With the vector in s segments
// that follow each other: (2 log2 n + s) (2 alpha + N/s beta); broadcast and reduce reach the bandwidth of a
// pipeline in logarithmic time.
void double_tree_broadcast(Builder& b, const Group& g, int root, Range range);
void double_tree_reduce(Builder& b, const Group& g, int root, Range range);

// Both at member 0: 2 log2 n alpha + 2 N beta + N gamma for large N, in segments.
void double_tree_allreduce(Builder& b, const Group& g, Range range);

}  // namespace plait::collectives
