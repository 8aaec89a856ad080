// The same program, with what it sends encoded: how any algorithm becomes one of compressed gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "collectives/program.h"

namespace plait::collectives {

struct Coded {
  // By rank: are messages with it encoded? Both ends say the same. Empty: all are.
  std::vector<bool> peers = {};
  // Which chunks this rank has an output of: input_of() and output_of() in collective.h.
  Range outputs = {};
  bool exact = false;  // the codec brings back every bit
};

// `program` with messages of wires. A value is encoded before it is first sent, and what came as a wire goes
// on as that wire: nothing is encoded twice. Whoever encoded a value that it goes on using takes what the
// others will decode in its place, so that all ranks hold the same bits (docs/program.md, rule 9). A wire
// that is folded once is folded as it is decoded; folds of a chain that has one are rounded each. Programs of
// all ranks must be made so; they are as fit for unbuffered delivery as `program`, where that is proved: a
// receive of a wire waits for less than the receive that it stands for.
//
// `program` is one of chunkwise(), of a collective whose slots are its chunks. Code::unsupported, with the
// step, where it moves several chunks at once.
Result<Program> coded(const Program& program, const Coded& how);

}  // namespace plait::collectives
