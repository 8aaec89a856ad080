// What a communicator is made of: explicit config first, then the environment, then defaults.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "plait/plait.h"

namespace plait::runtime {

struct Config {
  int32_t rank = 0, size = 1;
  std::string job;
  std::string host_id;  // empty: found out
  int64_t bootstrap_timeout_ms = 60'000;
  int64_t timeout_ms = 600'000;
};

// Code::invalid names the field or variable that is wrong and what it should be.
Result<Config> resolve(const plait_comm_config* config);

// Checks struct_size of a caller's config struct against what this library knows: fields it does not know
// must be zero.
Status check_struct(const void* config, size_t struct_size, size_t known, const char* name);

}  // namespace plait::runtime
