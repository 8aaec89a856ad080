// Who sits where: a room's text, the chips of a job, and the hierarchies and rings that the room's map says.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "sim/network.h"
#include "sim/room_network.h"
#include "topology/room.h"

namespace plait::sim {

// What --room says: a room of lib/topology, or "ideal N": places with nothing between them that costs
// anything.
struct Plan {
  std::optional<topology::Room> room;
  uint32_t ideal = 0;
  uint64_t places() const noexcept;
  // Places of a host, which have adjacent numbers.
  uint32_t host() const noexcept { return room ? std::max(1u, room->chips_per_host) : 1; }
};
// topology::parse_room's text, or "ideal N". Code::invalid: "FILE:LINE: why"; Code::unsupported: more places
// than a simulation has.
Result<Plan> read_plan(std::string_view text, const std::string& file);
// The places that a job of any size would get: those that work and nobody has, ascending.
std::vector<uint32_t> free_places(const Plan& plan);

// A job's places in a room.
struct Places {
  std::unique_ptr<Network> network;  // rank r is at its place r
  std::vector<uint32_t> seats;       // of each rank: the number of the chip, or of the host
  uint32_t host = 1;                 // Plan::host()
  // For collectives::Hierarchy::make, innermost first.
  std::vector<std::vector<int>> levels;
  std::vector<int32_t> order;  // empty: ranks are at the positions of their numbers
};
// Puts rank r on seats[r]. Code::invalid: no such place, one twice, one that is dead, two that nothing joins.
Result<Places> take_places(const Plan& plan, std::vector<uint32_t> seats);

// The sizes of groups of places that are near each other, ascending, each a multiple of the one before but
// the last, which is all: those of topology::levels, and the dimensions of the shape that chips are in.
std::vector<uint64_t> group_sizes(const topology::Room& room);

// A ring through all ranks over links that each join two of them: the rank at each position.
// Code::unsupported says why there is none: topology::rings' reason, or that they are too many.
Result<std::vector<int32_t>> ring_of_links(const Plan& plan, std::span<const uint32_t> seats);

// "0,1,5,4" or "0-7,12", in that order; or what `plait-topo place` prints: its chips. Code::invalid: neither,
// or no place was found.
Result<std::vector<uint32_t>> read_seats(std::string_view text);

}  // namespace plait::sim
