// What the ranks of a communicator have found out together.
#pragma once

#include <cstdint>
#include <memory>

#include "collectives/plan.h"
#include "runtime/near.h"

namespace plait::runtime {

// How the ranks lie.
struct Levels {
  int32_t near = 1;    // ranks of this host
  int32_t hosts = 1;   // of the communicator
  int32_t linked = 1;  // ranks whose chips links of their own join with this one's
  int32_t pods = 0;    // groups of such, ranks that are alone too; 0: there are none of two
};

// What ranks have found out together for their planners.
struct Agreed {
  collectives::Seating seating;
  std::shared_ptr<const collectives::Tuning> tuning;  // null: none
  bool before_shm = false;                            // some network is tried before shared memory
  HostRanks here{};                                   // who shares this host's NICs
};

}  // namespace plait::runtime
