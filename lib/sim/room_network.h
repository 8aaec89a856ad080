// A room of lib/topology as a network: nothing is stored for a chip or a host, routes are computed.
#pragma once

#include <memory>
#include <span>

#include "base/status.h"
#include "sim/network.h"
#include "topology/room.h"

namespace plait::sim {

constexpr uint64_t kMostPlaces = 1 << 20;
constexpr uint64_t kMostRoomLinks = 1 << 25;

// What chips have to their host, where they have no links of their own that lead where a message goes.
constexpr double kInsideBytesPerS = 100e9, kInsideLatencyS = 5e-7;

// Its places are the chips by number; of a room without chips the hosts, each of which has all its NICs as
// one. A message crosses chip links where these lead to its chip, the innermost dimension first, on a ring
// the shorter way, of two alike the upward one. Else it goes by its host: to another chip there, or by the
// NIC that topology::rails names and the switches of tiers.h. What is dead carries nothing, and routes go
// around it as around() says. Code::unsupported: more places or links than a simulation may have.
Result<std::unique_ptr<Network>> room_network(const topology::Room& room);

// Code::invalid: two of these chips that nothing joins, as their hosts have no NICs.
Status check_joined(const topology::Room& room, std::span<const uint32_t> chips);

// `network` with other places first: of its places `seats`, in their order, then the others. Names stay.
std::unique_ptr<Network> seated(std::unique_ptr<Network> network, std::span<const uint32_t> seats);

}  // namespace plait::sim
