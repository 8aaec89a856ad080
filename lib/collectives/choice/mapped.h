// Methods along rings and trees of links, where a pod holds all ranks.
#pragma once

#include <optional>

#include "collectives/choice/rooms.h"
#include "collectives/method.h"

namespace plait::collectives {

// "chip_rings": an allreduce on up to kMostMappedRings rings that share no link, each both ways; nothing
// where the map has none, or the pod does not hold all `ranks`.
std::optional<Method> rings_method(const Pod& pod, int32_t ranks);
// "chip_trees": an allreduce on two trees of links that share as few as can be; nothing likewise.
std::optional<Method> trees_method(const Pod& pod, int32_t ranks);

}  // namespace plait::collectives
