// Whether an MSCCL file orders what must be ordered.
#pragma once

#include <span>

#include "collectives/exchange/msccl_file.h"

namespace plait::collectives::exchange::msccl {

// A step of one rank.
struct StepId {
  uint32_t block, step;
};

// That the file's own order (the steps of a thread block one after the other, and those that wait for others)
// leaves no two steps of `rank` unordered of which one writes a place that the other touches. `order`: all
// steps of the rank, in an order that the file allows. An order that comes about by way of messages alone
// does not count: MSCCL's compiler does not rest on it either.
Status check_hazards(const File& file, uint32_t rank, bool in_place, std::span<const StepId> order);

}  // namespace plait::collectives::exchange::msccl
