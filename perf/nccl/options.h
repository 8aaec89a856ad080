// The command line of nccl-net-drive.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perf/nccl/measure.h"
#include "perf/nccl/side.h"

namespace plait::nccl_drive {

enum class Mode { check, list, script, measure };

struct Options {
  Mode mode = Mode::check;
  Job job;
  std::vector<int> points;  // empty: all
  uint64_t seed = 1, count = 1;
  Measure measure;
  bool json = false;
};

struct Parsed {
  Options options;
  std::optional<int> exit_status;  // set: the program is done
};

Parsed parse(int argc, char** argv);

}  // namespace plait::nccl_drive
