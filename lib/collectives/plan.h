// Which program does a call, and the schedules made so far.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "base/status.h"
#include "collectives/algorithms.h"
#include "collectives/machine/real/schedule.h"

namespace plait::collectives {

// What a choice rests on: alike on all ranks, so that all choose alike.
struct Shape {
  Collective collective = Collective::barrier;
  uint64_t bytes = 0;  // of the whole vector
  int32_t root = 0;
  bool in_place = false;
  std::string_view algorithm;  // forced by name; empty: the planner's choice
};

class Planner {
 public:
  Planner(int32_t rank, int32_t size) : rank_(rank), size_(size) {}

  // Some ranks are reached over a network: a message costs microseconds, not nanoseconds.
  void over_network() noexcept { network_ = true; }

  // Code::unsupported when the named algorithm does not exist, does not fit this number of ranks, or is not
  // run by the real machine.
  Result<const Algorithm*> choose(const Shape& shape) const;

  // The schedule of `algorithm`, made on first use. Lives as long as the planner.
  Result<const real::Schedule*> schedule(const Algorithm& algorithm, int32_t root, bool in_place);

 private:
  const int32_t rank_, size_;
  bool network_ = false;
  std::unordered_map<uint64_t, std::unique_ptr<real::Schedule>> schedules_;
  uint64_t latest_key_ = ~uint64_t(0);
  const real::Schedule* latest_ = nullptr;
};

// Up to this many ranks the direct algorithms are used: each rank folds its shard from all others at once.
constexpr int32_t kDirectRanks = 64;

}  // namespace plait::collectives
