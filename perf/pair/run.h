// A tool from its arguments to its exit status.
#pragma once

#include "perf/pair/tool.h"

namespace plait::perf::pair {

int run(Tool tool, int argc, const char* const* argv);

}  // namespace plait::perf::pair
