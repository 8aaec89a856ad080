// Options of perftest that nothing here takes. A command line that was written for perftest gets to know why.
#pragma once

#include <vector>

#include "perf/pair/tool.h"
#include "tools/command_line.h"

namespace plait::perf::pair {

std::vector<tools::Refused> refused_by(Tool tool);

}  // namespace plait::perf::pair
