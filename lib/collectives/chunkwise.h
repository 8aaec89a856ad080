// The same program, each chunk by itself.
#pragma once

#include "collectives/program.h"

namespace plait::collectives {

// `program` with a step, and so a message, for each chunk: none has several, or several pieces (kMore). Both
// ends of a stream still meet when all ranks' programs are so taken apart. This is what runs when chunks are
// large, or not contiguous: it may need more credits than `program` does, and is proved by itself.
// `program` must have passed derive_dependencies(); scratch stays as allotted.
Program chunkwise(const Program& program);

}  // namespace plait::collectives
