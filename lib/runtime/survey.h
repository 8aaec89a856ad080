// What could join this process to others, and what of it would be used.
#pragma once

#include <string>

#include "runtime/config.h"

namespace plait::runtime {

// A line for each transport and device: its name, whether a communicator of `config` would use it, and what
// it can do, or why it is not used. Loads all modules.
std::string survey(const Config& config);

}  // namespace plait::runtime
