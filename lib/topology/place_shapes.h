// Places for jobs of other shapes than rings.
#pragma once

#include "topology/place.h"
#include "topology/place_judge.h"

namespace plait::topology {

Placement place_line(const Fabric& fabric, uint32_t chips, uint64_t effort);
Placement place_mesh(const Fabric& fabric, const std::vector<uint32_t>& sides);
Placement place_connected(const Fabric& fabric, uint32_t chips);

}  // namespace plait::topology
