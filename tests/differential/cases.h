// What is compared: calls, and all of them or a part drawn by a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/collective.h"
#include "perf/dtype.h"

namespace plait::differential {

struct Case {
  collectives::Collective collective;
  bool uneven = false;    // the variant with counts
  std::string algorithm;  // empty: plait's choice
  size_t count = 0;       // as in the C call; uneven: the mean of what ranks own
  const perf::Dtype* dtype = nullptr;
  const perf::Op* op = nullptr;  // reductions
  int root = 0;
  bool in_place = false;
  uint64_t seed = 0;  // of values, counts and gaps
};

// "allgatherv by ring, count 65537, float32, in place, seed 17"
std::string describe(const Case& c);

// Every collective x algorithm for n ranks x counts {0, 1, n-1, n, n+1, 65537} x dtypes x operators, out of
// place and in place; alike on all ranks. Roots go around.
std::vector<Case> all_cases(int n, uint64_t seed);

// `most` of them, drawn by the seed.
std::vector<Case> drawn(std::vector<Case> all, size_t most, uint64_t seed);

// The elements that each rank owns in an uneven call (zeros among them, `mean` on average), or `mean` each.
std::vector<int> counts_of(const Case& c, int n, uint64_t salt);

// Where the parts begin in a buffer: uneven calls that may have gaps have some. The last element is the size
// of the buffer.
std::vector<int> places_of(const Case& c, const std::vector<int>& counts, bool gaps);

}  // namespace plait::differential
