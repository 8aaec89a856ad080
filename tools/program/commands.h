// The commands of plait-program.
#pragma once

#include "base/status.h"
#include "tools/program/options.h"

namespace plait::program {

// Carries out the command that the options name; what fails is said by the status.
Status carry_out(const Options& options);

}  // namespace plait::program
