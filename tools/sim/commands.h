// What plait-sim does.
#pragma once

#include <string>

#include "base/status.h"
#include "tools/sim/options.h"

namespace plait::simtool {

// Runs what the options ask for and prints it. Takes the room's network.
Status carry_out(Options& options);

void print(const std::string& text);

}  // namespace plait::simtool
