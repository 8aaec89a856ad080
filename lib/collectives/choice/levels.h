// What a communicator of several hosts can do level by level.
#pragma once

#include <string>

#include "collectives/choice/rooms.h"
#include "collectives/method.h"

namespace plait::collectives {

// Adds the compositions worth a try among the ranks of these pods and hosts: inside a host what shared memory
// does well, between hosts what a network does well, inside a pod what goes around rings of links or along
// the dimensions of a mesh or torus. None where all ranks are on one host without pods, or each has a host of
// its own. The same on all ranks, in the same order. Their programs are made when they are first asked for.
void add_levels(Methods& methods, const Seating& seating);

// What the map says of pods, and what of the machine is no level and why: lines for people; empty: nothing.
std::string levels_note(const Seating& seating);

}  // namespace plait::collectives
