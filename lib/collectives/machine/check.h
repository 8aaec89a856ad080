// What can be seen in one program alone.
#pragma once

#include <span>

#include "base/status.h"
#include "collectives/algorithms.h"
#include "collectives/program.h"

namespace plait::collectives {

// That the programs are those of ranks 0..n-1 of one call, and that each step is one that the machine can
// run: places, peers and dependencies in bounds, chunks where they belong, inputs read only, outputs written
// only where there are.
Status check_steps(Collective collective, int root, std::span<const Program> programs);

// That the program's dependencies order any two steps of which one writes a place that the other touches, in
// the order of the list (rule 2). Looks at what the program says, not at how it was derived.
Status check_races(const Program& program);

}  // namespace plait::collectives
