// plait's log goes to NCCL's, and errors to NCCL as the result that it knows.
#pragma once

#include "abi.h"
#include "base/status.h"

namespace plait::nccl {

// Null: to stderr, as PLAIT_LOG says.
void log_to(Logger logger);
NcclResult result_of(const Status& status) noexcept;
// Tells the log why, and gives the result.
NcclResult report(const Status& status, const char* call) noexcept;

}  // namespace plait::nccl
