// Programs as a trace: the JSON that Perfetto (ui.perfetto.dev) and chrome://tracing read.
#pragma once

#include <string>

#include "collectives/exchange/rounds.h"
#include "collectives/exchange/set.h"

namespace plait::collectives::exchange {

// A process for each rank and a track for each lane and direction, and for what a rank does by itself; a
// slice for each message end or step; an arrow from each send to its receive. Slices of a track that would
// overlap get a further track. `rounds` are those of the variant; `timing` says when steps happen, in
// microseconds.
std::string to_trace(const ProgramSet& set, bool in_place, const Rounds& rounds, const Timing& timing);

}  // namespace plait::collectives::exchange
