// The symbolic machine: proves programs, without a byte moved.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "collectives/algorithms.h"
#include "collectives/program.h"

namespace plait::collectives {

// What programs are to do together.
struct Goal {
  Collective collective = Collective::allreduce;
  int root = 0;        // where the collective has one
  bool exact = false;  // codecs bring back every bit
};

struct Proof {
  // Ok when proved. Otherwise what was refused; the sentence names rank, step and chunk.
  Status status;
  // The least credits a stream needs: 0 or 1 (rule 5).
  uint8_t min_credits = 0;
  // Contributions are folded in the order of ranks, everywhere.
  bool rank_order = false;
  // And by one declared chain: rule 8.
  bool deterministic = false;
  // Of all ranks together.
  uint64_t steps = 0;
};

// Takes the programs of ranks 0..n-1 of one call, all in place or none, and proves of them, whatever the
// order in which steps and messages happen to run:
//   - each step is sound: places, peers, dependencies in bounds; inputs are only read, outputs written where
//   there are;
//   - dependencies order any two steps of which one writes what the other touches;
//   - fold chains are well formed; the k-th send of a stream meets its k-th receive, and both name the same
//   chunks;
//   - nothing deadlocks when each stream has min_credits credits and each chain is one event;
//   - no place is read before it is written, and none as another chunk than was written there;
//   - each output holds each contribution that it should hold once, and nothing else; a barrier is reached
//   from all;
//   - avg scales each folded chunk once, after its last fold;
//   - all ranks of an allreduce associate a chunk alike, so that they hold the same bits: what a codec
//   returns, unless it is exact, is another value than what was encoded, and another each time;
//   - wires are encoded, decoded, moved and copied, and nothing else;
//   - programs that say that they keep the order of ranks do.
// O(steps + places); a refusal runs once more to find its words. Does not look at Program::min_credits.
Proof prove(const Goal& goal, std::span<const Program> programs);

}  // namespace plait::collectives
