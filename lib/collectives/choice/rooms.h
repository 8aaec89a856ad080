// Rooms as plait's transports make them: what the choice of a program rests on where nothing was measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/machine/room.h"

namespace plait::collectives {

// Ranks whose chips links of their own join, and what the map of these says (docs/topology.md).
struct Pod {
  // Each one's chip is joined with the next one's, and the last one's with the first one's; where there is no
  // such ring, each step goes along a tree, whose links then carry one step each way.
  std::vector<int32_t> ranks = {};
  // Of a mesh or torus all of whose chips have one rank: ranks row by row, the last dimension fastest; and
  // the sizes of its dimensions, two or more, the first one first. Else empty.
  std::vector<int32_t> grid = {};
  std::vector<int32_t> grid_sizes = {};
  // Rings through all ranks that share no link, of which `ranks` is one; empty: there is none.
  std::vector<std::vector<int32_t>> rings = {};
  // Two trees over all that share as few links as can be: by position in `ranks` the parent's position, -1 at
  // the root. Empty: there are none.
  std::vector<std::vector<int32_t>> trees = {};
  std::string about = {};  // "torus 4x4: a ring of links, ...", for people
};

// How the ranks of a communicator lie: agreed by all of them when it is made.
struct Seating {
  int32_t ranks = 1;
  std::vector<int32_t> host_of = {};  // of each rank, numbered from 0 on; empty: all are on one
  int32_t cores = 0;     // of the host that has fewest for its ranks, where they are too few; 0: a core each
  bool commons = false;  // all map each other's memory, and have commons (real/commons.h)
  double link_Bps = 0;   // bytes a second, each way, of the slowest link between hosts; 0: not known
  std::vector<int32_t> pod_of =
      {};                      // of each rank, numbered from 0 on, one that is alone too; empty: no pods
  std::vector<Pod> pods = {};  // of two ranks or more
  double chip_link_Bps = 0;    // of the slowest link between chips, each way; 0: not known
};

// Ranks of a host share memory of plait_mem_alloc, those of two hosts are joined by TCP. The figures are
// those of one machine (rooms.cc says how they were found); what decides is how they compare, which changes
// little.
Room room_of(const Seating& seating);

}  // namespace plait::collectives
