// The back ends that the suite runs against. To add one, add an entry in backends.cc; a fabric that needs a
// library of its own has a file of its own, backends_NAME.cc, whose back ends are named NAME_....
#pragma once

#include <vector>

#include "conformance/world.h"

namespace plait::transport::conformance {

std::vector<Backend> backends();

// Over several of them, in every build.
std::vector<Backend> rails_backends();

// Of the fabrics that this build has.
std::vector<Backend> icl_backends();
std::vector<Backend> ofi_backends();
std::vector<Backend> ucx_backends();
std::vector<Backend> verbs_backends();

}  // namespace plait::transport::conformance
