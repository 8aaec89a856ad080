#pragma once

#include <string>

namespace plait {

// What the running kernel drew when it started: equal in all containers of a machine, new after each boot.
// Empty where the kernel does not say.
std::string boot_id();

}  // namespace plait
