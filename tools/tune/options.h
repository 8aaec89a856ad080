// What the command line of plait-tune asks for.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "perf/collective.h"

namespace plait::tune {

struct Options {
  std::vector<const perf::Collective*> collectives;
  std::vector<size_t> sizes;  // bytes, ascending
  int rounds = 7;
  std::string out;                   // the file to write
  bool merge = false;                // keep the cases of `out` that are not measured now
  std::vector<std::string> combine;  // files to combine; none: measure
};

// The parsed options, or the status to exit with at once (0 after --help and the like, 2 after a mistake,
// which has been explained on stderr).
struct Parsed {
  Options options;
  std::optional<int> exit_status;
};
Parsed parse(int argc, char** argv);

}  // namespace plait::tune
