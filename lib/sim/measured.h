// Times that were measured, to hold against those that are simulated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collectives/collective.h"

namespace plait::sim {

// A call, and how long it took.
struct Measured {
  collectives::Collective collective = collectives::Collective::allreduce;
  int32_t ranks = 1, root = 0;
  uint64_t bytes = 0;
  std::string way;  // the algorithm
  bool in_place = true;
  double seconds = 0;
  // The same ranks do the same in the same way, with vectors of whatever size.
  bool is_like(const Measured& other) const noexcept;
};

// What `plait-perf --json` writes; of rows that differ in nothing but being in place those that are not are
// left out, as simulated calls are. Code::invalid: "FILE: row 3: why".
Result<std::vector<Measured>> read_measured(std::string_view json, const std::string& file);

// Ordered by collective, way, ranks, root and bytes; a call that was measured several times has the median of
// its times.
std::vector<Measured> merged(std::vector<Measured> rows);

// The middle one, or the mean of the middle two; 0 of none.
double median(std::vector<double> values);

}  // namespace plait::sim
