// Rooms in words, until lib/topology reads them: which network, and who sits where.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sim/network.h"

namespace plait::sim {

struct Room {
  std::unique_ptr<Network> network;
  std::vector<int>
      levels;    // of its hierarchy, innermost first: 8 chips, 64 hosts, 128 leaves; a mesh: columns, rows
  int host = 1;  // ranks of a host, which have adjacent numbers
};

constexpr int64_t kMostPlaces = 1 << 20;

// "ideal 8", "ring 8", "mesh 4x4", "torus 8x8x4", "hybrid cube mesh", "4 hosts x 8 chips x 2 nics",
// "2 leaves x 4 hosts x 8 chips"; then, in any order, "100 Gb/s" (of a cable; of a NIC where there are
// hosts), "2 us" (of its latency), "inside 400 GB/s" (of a chip in its host), "oversubscribed 4", "switch 3.2
// Tb/s" (of a leaf in all). Code::invalid says which word is not understood.
Result<Room> read_room(std::string_view text);

// "256M", "1.5 GiB": binary multiples of bytes.
Result<uint64_t> read_size(std::string_view text);
// "2 ms", "30us": seconds.
Result<double> read_time(std::string_view text);

}  // namespace plait::sim
