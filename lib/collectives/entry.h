// Contributions that are scaled before anybody folds them: an average that must not overflow, a premultiplied
// sum.
#pragma once

#include "base/status.h"
#include "collectives/program.h"

namespace plait::collectives {

// The same program, in which each contribution enters by a step of its own: a copy flagged kEnter takes it
// from the input to scratch, and whatever read the input reads that. The machine scales in this step and
// rounds to the dtype there, whether it stores the value, sends it or folds it at once: whoever folds a
// contribution finds the same bits. It goes before all other steps, so that nothing waits for it that did not
// wait for the input, and no send has to wait for another's scratch: the program needs no more credits than
// before.
Result<Program> entered(Program program);

}  // namespace plait::collectives
