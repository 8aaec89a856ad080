// What plait-perf --compare tells a rival to time, a line each way: the rival's rank 0 reads orders from its
// standard input and answers with the samples, or "none" and a reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "perf/collective.h"

namespace plait::perf::rival {

// Floats, summed where something is reduced. Bounds are those of read_order().
struct Order {
  Kind kind = Kind::barrier;
  uint64_t count = 0;  // as given to the call
  int32_t root = 0;
  int32_t in_place = 0;
  int32_t warmup = 0;
  int32_t samples = 0;  // 0: it is over
  int32_t batch = 0;    // calls a sample
};
static_assert(std::is_trivially_copyable_v<Order>);

constexpr uint64_t kMostCount = uint64_t{1} << 31;  // elements
constexpr int32_t kMostCalls = 1'000'000;           // of each kind

std::string write_order(const Order& order);
// Nothing: that is none, or beyond the bounds, or for a root that is none of so many ranks.
std::optional<Order> read_order(const std::string& line, int ranks);

std::string write_samples(const std::vector<double>& us);
// Nothing: it is no such answer, or not so many samples.
std::optional<std::vector<double>> read_samples(const std::string& line, size_t count);

}  // namespace plait::perf::rival
