// One rank of plait-tune: goes through all cases with the others; rank 0 also writes.
#pragma once

#include "base/status.h"
#include "plait/plait.h"
#include "tools/tune/options.h"

namespace plait::tune {

// Measures and writes options.out. Collective; the file is looked at before anything is measured. `comm`
// stays the caller's. A rank that is not 0 tells only what failed on itself. Code::invalid: too few ranks, or
// a file that is wrong; Code::system; what a call of plait came to, as Code::internal with its sentence.
Status measure(const Options& options, plait_comm* comm);

}  // namespace plait::tune
