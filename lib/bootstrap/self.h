// What the parts of a group know of the rank that they work for.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/handshake.h"
#include "bootstrap/interfaces.h"

namespace plait::bootstrap {

struct Self {
  int32_t rank = 0, size = 1;
  std::string job;
  uint32_t epoch = 0;
  Digest job_hash{};
  Trusted trusted;
  uint64_t instance = 0;           // random
  std::vector<Interface> sources;  // dial from these addresses only; empty: whichever the kernel takes
  bool met_before = false;         // a subgroup: its ranks have started, share a secret and know each other

  Claim claim(int32_t listener, Purpose purpose) const {
    return {job_hash, epoch, rank, listener, uint32_t(purpose)};
  }
};

}  // namespace plait::bootstrap
