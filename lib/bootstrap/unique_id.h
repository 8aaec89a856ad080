// A unique id, as NCCL has it: 128 bytes that rank 0 makes and the framework hands to all ranks. They hold
// where rank 0 listens and a fresh secret: whoever reads them can join the job.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "bootstrap/membership.h"

namespace plait::bootstrap {

using UniqueId = std::array<std::byte, 128>;

// Opens rank 0's listener at once, so that ranks may dial before rank 0 joins, and keeps it for that join.
// Call it in the process that becomes rank 0. Code::invalid names what is wrong with `interfaces` or the
// ports; Code::system.
Result<UniqueId> make_unique_id(const std::string& interfaces, uint16_t port_min, uint16_t port_max);

// What to join with; interfaces and ports may be set afterwards. Code::invalid: no unique id, or a damaged
// one.
Result<Membership> membership_of(const UniqueId& id, int32_t rank, int32_t size);

}  // namespace plait::bootstrap
