// An address of loopback that no other running process takes for itself: ports at it are this process's alone,
// but for who listens at all addresses.
#pragma once

#include <unistd.h>

#include <string>

namespace plait::test {

inline std::string own_loopback() {
  const auto pid = uint32_t(::getpid());  // below 2^22
  return "127." + std::to_string(64 + (pid >> 16)) + '.' + std::to_string(pid >> 8 & 255) + '.' +
         std::to_string(pid & 255);
}

}  // namespace plait::test
