// --calibrate and --compare.
#pragma once

#include "base/status.h"
#include "tools/sim/options.h"

namespace plait::simtool {

// Reads what was measured, fits what is to be fitted, prints rows and errors, and writes what was found.
Status hold_against_measured(const Options& options);

}  // namespace plait::simtool
