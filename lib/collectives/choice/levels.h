// What a communicator of several hosts can do level by level.
#pragma once

#include "collectives/choice/rooms.h"
#include "collectives/method.h"

namespace plait::collectives {

// Adds the compositions worth a try among the ranks of these hosts: inside a host what shared memory does
// well, between hosts what a network does well. None where all ranks are on one host, or each has a host of
// its own. The same on all ranks, in the same order. Their programs are made when they are first asked for.
void add_levels(Methods& methods, const Seating& seating);

}  // namespace plait::collectives
