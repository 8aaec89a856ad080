// The back ends that the suite runs against. To add one, add an entry in backends.cc.
#pragma once

#include <vector>

#include "conformance/world.h"

namespace plait::transport::conformance {

std::vector<Backend> backends();

}  // namespace plait::transport::conformance
