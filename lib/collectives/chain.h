// Declared fold chains (rule 7): which steps make one, and whether they are well formed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "collectives/program.h"

namespace plait::collectives {

// A chain is a left fold of values of one piece: receives flagged kChain bring operands, folds flagged kChain
// are continued, a fold without the flag ends it. It is executed as one event, which waits for all of its
// receives, accumulates without rounding and writes its last dst only; what lies in between is never seen by
// anybody.
//
// Returns for each step the step that ends its chain, which is the step itself where it is in none. Refused,
// with a sentence that names rank and step: a value inside a chain that is read twice, or by anything but a
// fold of the same chunks; a fold continued as the right operand; a value that is never folded; kChain on
// other steps than receives and folds; kChain and kLast on one step. `program` must have passed
// derive_dependencies().
Result<std::vector<uint32_t>> chain_ends(const Program& program);

}  // namespace plait::collectives
