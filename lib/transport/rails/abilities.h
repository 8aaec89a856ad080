// What several rails can do together, and what one must be able to do to be a rail.
#pragma once

#include <memory>
#include <vector>

#include "transport/transport.h"

namespace plait::transport::rails {

// Code::unsupported, with its name, for a domain that cannot be a rail.
Status check_rail(const Domain& rail);
Capabilities capabilities_of(const std::vector<std::unique_ptr<Domain>>& rails);
// The counters that an endpoint of any of them may have.
size_t rail_counters(const std::vector<std::unique_ptr<Domain>>& rails) noexcept;

constexpr size_t kInlineMost = 256;
constexpr size_t kDepthMost = 256;

}  // namespace plait::transport::rails
