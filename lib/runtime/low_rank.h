// A gradient as the product of two thin matrices: an allreduce that is two of their factors (docs/program.md,
// rule 14; PowerSGD, Vogels et al. 2019).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "collectives/lowrank/lowrank.h"
#include "runtime/request.h"

namespace plait::runtime {

// One tensor's: it is kept as its TensorState says, and made use of by one request at a time.
struct LowRank {
  collectives::lowrank::Shape shape;
  // In TensorState::data: what earlier calls left out, a matrix like the tensor; and the right factor, with
  // which the next call begins. Behind these, of no meaning between calls: the left factor, and this rank's
  // own right one.
  float *error = nullptr, *right = nullptr, *left = nullptr, *own_right = nullptr;
  Prepared of_left, of_right;  // the two allreduces ...
  bool prepared = false;       // ... are filled in

  static size_t kept_floats(const collectives::lowrank::Shape& s) noexcept {
    return s.rows * s.columns + s.columns * s.rank;
  }
  static size_t floats(const collectives::lowrank::Shape& s) noexcept {
    return kept_floats(s) + (s.rows + s.columns) * s.rank;
  }
  // `data`: floats() of them.
  void lie_at(float* data) noexcept {
    error = data;
    right = error + shape.rows * shape.columns;
    left = right + shape.columns * shape.rank;
    own_right = left + shape.rows * shape.rank;
  }
};

}  // namespace plait::runtime
