// What the algorithms of the table cost on paper: closed formulas, a few flops each, for choosing among many
// before any program is built. tests/unit/collectives/formula_test.cc holds each against the cost machine.
#pragma once

#include <cstdint>
#include <optional>

#include "collectives/algorithms.h"

namespace plait::collectives {

// Of the rank that has most to do, for n ranks. In the room of textbooks a call of N bytes takes
//   messages * alpha + moved * N * beta + (folded - hidden) * N * gamma.
struct Outline {
  double rounds = 0;    // messages on the longest way that each wait for the one before
  double messages = 0;  // sent or received one after the other
  double moved = 0;     // vectors, through its port one way
  double folded = 0;    // vectors, operands but the first
  double hidden = 0;    // of these: folded while the next message arrives
  // Vectors that are received and put into their place as they are, or that a fold puts there and takes back,
  // for it is not a chain (chain.h).
  double copied = 0;

  double share = 1;       // of the work of this rank, what a mean rank has
  double tight = 0;       // rounds more in place: a block has to leave before another takes its place
  bool answered = false;  // whoever sends hears of the result, and so that the message was taken

  bool neighbours = false;  // messages go to the next rank only: one stream leaves a host, and one enters
  // As if all went in lockstep: ranks that run ahead make it less, or queue at a port and make it more.
  bool rough = false;

  double textbook(double bytes, double alpha, double beta, double gamma) const noexcept {
    return messages * alpha + bytes * (moved * beta + (folded - hidden) * gamma);
  }
};

// Nothing where there is no formula for the row.
std::optional<Outline> outline_of(Collective collective, std::string_view algorithm, int n) noexcept;

// The smallest k with 2^k >= n; the largest with 2^k <= n. n >= 1.
int log2_up(int n) noexcept;
int log2_down(int n) noexcept;

}  // namespace plait::collectives
