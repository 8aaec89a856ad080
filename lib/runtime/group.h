// Calls between plait_group_begin and plait_group_end: those that would block are started, and waited for
// together.
#pragma once

#include "runtime/request.h"

namespace plait::runtime {

// Is this thread between the two?
bool in_group() noexcept;
// A started request that the end of the group waits for and frees.
void defer(plait_request* request);
// `comm` goes: what this thread deferred of it ends with it.
void forget_deferred(const Communicator* comm) noexcept;

}  // namespace plait::runtime
