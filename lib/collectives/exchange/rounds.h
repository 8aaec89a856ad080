// When steps happen in a picture.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "collectives/program.h"

namespace plait::collectives::exchange {

// From `begin` to before `end`, in whatever unit its maker says.
struct Interval {
  double begin = 0, end = 0;
};

// When a step of a rank happens. Steps of one message (kMore) happen at once. From rounds, or from a machine
// that knows costs.
using Timing = std::function<Interval(int32_t rank, uint32_t step)>;

// The rounds of a machine that keeps the order of dependencies and in which a rank sends one message,
// receives one and works on one thing at a time, each of which takes one round. Not how a real machine runs
// them, which waits for nothing but dependencies: the fewest things at once that show who waits for whom.
class Rounds {
 public:
  // `programs` have been proved; they are not kept. `credits` a stream: what the proof found.
  // Code::invalid where prove() would refuse the messages or the order.
  static Result<Rounds> make(std::span<const Program> programs, uint32_t credits);

  // The round in which a step happens, from 0. The folds of a chain (rule 7) happen in one.
  uint32_t of(int32_t rank, uint32_t step) const { return at_[size_t(rank)][step]; }
  uint32_t count() const noexcept { return count_; }
  uint64_t messages() const noexcept { return messages_; }
  // The step of the peer's program that the message of step `step` meets: its first, if it is of several.
  // UINT32_MAX for local steps.
  uint32_t match(int32_t rank, uint32_t step) const { return match_[size_t(rank)][step]; }
  Timing timing(double round) const;  // each round lasting `round`; refers to this

 private:
  Rounds() = default;
  friend class RoundPlanner;

  std::vector<std::vector<uint32_t>> at_, match_;  // by rank and step
  uint32_t count_ = 0;
  uint64_t messages_ = 0;
};

}  // namespace plait::collectives::exchange
