// Regular shapes that chips and links have without anybody saying so.
#pragma once

#include <optional>

#include "topology/fabric.h"

namespace plait::topology {

// The mesh or torus of two dimensions or more (each of two chips or more) whose links are those of the
// fabric, all of whose chips work and are numbered row by row; the one with fewest dimensions, then the
// squarest. Nothing: it is no such, or of more than kMostRecognized chips.
inline constexpr uint32_t kMostRecognized = 4096;
std::optional<Lattice> recognize(const Fabric& fabric);

}  // namespace plait::topology
