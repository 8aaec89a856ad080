// Allreduces along rings and trees of links that a map of the machine gives, instead of ones made of numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/builder.h"

namespace plait::collectives {

// Rings that are used at a time: each goes both ways, on two lanes.
inline constexpr size_t kMostMappedRings = 2;

// Each of `rings` is a permutation of the ranks, in the order of which a part of `range` goes around, half of
// it each way. Where no two rings share a link, each moves at the rate of its links: 2(n-1) alpha + (n-1)/n
// N/k beta + (n-1)/(2k) N/n gamma a ring, for k rings. Lane 2i goes forwards on ring i, 2i + 1 backwards.
void mapped_rings_allreduce(Builder& b, int rank, const std::vector<std::vector<int32_t>>& rings,
                            Range range);

// parents[t][r]: of rank r in tree t, -1 at its root. A part of `range` for each tree, which is folded up to
// the root and comes down again: with s segments a tree of depth d takes (2d + s) steps. Lane t is tree t's.
// As in Sanders, Speck and Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
// Parallel Computing 35(12), 2009, but with trees of the links that are there.
void mapped_trees_allreduce(Builder& b, int rank, const std::vector<std::vector<int32_t>>& parents,
                            Range range);

}  // namespace plait::collectives
