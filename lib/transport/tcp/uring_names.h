// What requests to the ring are named by that are no connection's.
#pragma once

#include <cstdint>

namespace plait::transport::tcp {

constexpr uint64_t kWatched = UINT64_MAX, kCancelled = UINT64_MAX - 1;

}  // namespace plait::transport::tcp
