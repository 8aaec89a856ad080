// Recursive halving: in each round a pair of members halves between them what both still work on.
#pragma once

#include "collectives/algorithm/cube.h"
#include "collectives/builder.h"

namespace plait::collectives {

// Block i of `blocks` ends, folded, at member i. The farthest pair first, so that messages are contiguous:
// log2 n alpha + (n-1)/n N (beta + gamma); when n is no power of two, two rounds more, the first of N bytes.
// The order of members is not kept. Thakur, Rabenseifner and Gropp, "Optimization of collective communication
// operations in MPICH", IJHPCA 19(1), 2005.
void halving_reduce_scatter(Builder& b, const Group& g, const Blocks& blocks, int lane = 0);

// Halving, then doubling on the way back: 2 log2 n alpha + 2(n-1)/n N beta + (n-1)/n N gamma; when n is no
// power of two, two rounds of N bytes more. The nearest pair first: it exchanges the most, and the order of
// members is kept. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004.
void rabenseifner_allreduce(Builder& b, const Group& g, Range range, int lane = 0);

// Halves `range` `rounds` times with the member that partner(round) names, and doubles on the way back.
// Partners have the same bits of `label` below that of the round, which says who keeps the upper half, and
// differ in that one. swapped(round): the partner's values are the left operands.
template <class Partner, class Swapped>
void halve_and_double(Builder& b, Range range, int rounds, unsigned label, Partner partner, Swapped swapped,
                      int lane) {
  auto half = [&](Range of, int round, bool mine) {
    return part(of, 2, int((label >> round & 1) == unsigned(mine)));
  };
  Range held[32];  // at the beginning of each round
  for (int k = 0; k < rounds; k++) {
    held[k] = range;
    range = half(range, k, true);
    b.send(partner(k), half(held[k], k, false), lane);
    b.recv_reduce(partner(k), range, lane,
                  uint8_t((swapped(k) ? kSwapped : 0) | (k == rounds - 1 ? kLast : 0)));
  }
  for (int k = rounds - 1; k >= 0; k--) {
    b.send(partner(k), half(held[k], k, true), lane);
    b.recv(partner(k), half(held[k], k, false), lane);
  }
}

}  // namespace plait::collectives
