// What the map of the machine says of the networks that join ranks, as planners take it.
#pragma once

#include <vector>

#include "collectives/choice/rooms.h"
#include "runtime/reach.h"

namespace plait::runtime {

// Pods, and how fast links are, of what all ranks told: the same on all of them. Functions of the cards
// alone.
void seat_networks(const Reach& reach, const std::vector<NetworkCard>& cards, collectives::Seating& seating);

// A group of two ranks or more as the links between their chips have it: in which order its ranks go around
// (lib/topology: rings, trees), along which dimensions.
collectives::Pod pod_of(const ChipGroup& group);

}  // namespace plait::runtime
