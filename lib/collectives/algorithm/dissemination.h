// Dissemination: in round k each member tells the one 2^k further what has reached it.
#pragma once

#include "collectives/builder.h"

namespace plait::collectives {

// After ceil(log2 n) rounds everybody has heard of everybody: ceil(log2 n) alpha. `chunk` has no bytes;
// folding it only says what was reached. Values lie in fresh scratch each round, so that no round waits for a
// send to be over: needs no credits, other than the textbook form. Hensgen, Finkel and Manber, "Two
// algorithms for barrier synchronization", IJPP 17(1), 1988.
void dissemination_barrier(Builder& b, const Group& g, uint32_t chunk, int lane = 0);

}  // namespace plait::collectives
