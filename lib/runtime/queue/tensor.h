// What ranks push, as they tell each other.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/reduce/reduce.h"

namespace plait::runtime::queue {

// Travels as it is.
struct Tensor {
  uint64_t key = 0;
  uint64_t count = 0;  // elements
  int32_t dtype = 0, op = 0;
  int32_t priority = 0;
  uint32_t unused = 0;
  friend bool operator==(const Tensor&, const Tensor&) = default;
  size_t element() const noexcept { return collectives::size_of(collectives::Dtype(dtype)); }
  uint64_t bytes() const noexcept { return count * element(); }
};

// "count 100, float32, sum, priority 3"
std::string describe(const Tensor& tensor);

// "rank 2 has", "ranks 2, 3 have"
std::string has(const std::string& ranks);

}  // namespace plait::runtime::queue
