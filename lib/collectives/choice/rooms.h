// Rooms as plait's transports make them: what the choice of a program rests on where nothing was measured.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/machine/room.h"

namespace plait::collectives {

// How the ranks of a communicator lie: agreed by all of them when it is made.
struct Seating {
  int32_t ranks = 1;
  std::vector<int32_t> host_of = {};  // of each rank, numbered from 0 on; empty: all are on one
  int32_t cores = 0;    // of the host that has fewest for its ranks, where they are too few; 0: a core each
  double link_Bps = 0;  // bytes a second, each way, of the slowest link between hosts; 0: not known
};

// Ranks of a host share memory of plait_mem_alloc, those of two hosts are joined by TCP. The figures are
// those of one machine (rooms.cc says how they were found); what decides is how they compare, which changes
// little.
Room room_of(const Seating& seating);

}  // namespace plait::collectives
