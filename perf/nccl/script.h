// Random scripts of operations from a seed, with a model of what each receive must hold.
#pragma once

#include <cstdint>

#include "perf/nccl/side.h"

namespace plait::nccl_drive {

struct Scripts {
  Status status;
  uint64_t seed = 0;  // of the failure
  uint64_t done = 0;
  uint64_t bytes = 0;
};

// Runs `count` scripts of the seeds from `seed` in a process of their own, until one fails.
Scripts run_scripts(const Job& job, uint64_t seed, uint64_t count);

}  // namespace plait::nccl_drive
