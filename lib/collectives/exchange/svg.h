// Programs as a picture: a row for each rank, a column for each round, an arrow for each message.
#pragma once

#include <string>

#include "collectives/exchange/rounds.h"
#include "collectives/exchange/set.h"

namespace plait::collectives::exchange {

constexpr int32_t kMostRanksDrawn = 64;
constexpr uint32_t kMostRoundsDrawn = 256;
constexpr uint64_t kMostMessagesDrawn = 8192;

// One SVG document, with nothing outside it that it needs. `rounds` are those of the variant. Each mark has
// the words of its step as a tooltip. Code::unsupported: more than the above, which nobody could read.
Result<std::string> to_svg(const ProgramSet& set, bool in_place, const Rounds& rounds);

}  // namespace plait::collectives::exchange
