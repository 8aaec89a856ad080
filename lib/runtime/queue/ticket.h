// A pushed tensor on this rank: the request that the caller holds, and how far it is.
#pragma once

#include "runtime/queue/tensor.h"
#include "runtime/request.h"

namespace plait::runtime::queue {

struct Ticket : plait_request {
  Tensor tensor;
  std::byte* buffer = nullptr;
  bool kept = true;                         // the caller holds it; else it goes when it is done
  bool agreed = false;                      // all ranks have pushed it
  bool is_done = false;                     // its result stands; `state` follows where the caller may see it
  uint64_t left = 0;                        // elements that are not summed
  uint32_t operations = 0, fused_with = 0;  // of other tensors
  int64_t pushed_ns = 0, agreed_ns = 0, started_ns = 0, done_ns = 0;
};

}  // namespace plait::runtime::queue
