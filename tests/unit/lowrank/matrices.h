// Matrices for the tests, and what a call of PowerSGD comes to over ranks that are simulated here.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "collectives/lowrank/lowrank.h"

namespace plait::collectives::lowrank {

using Floats = std::vector<float>;

// Rows, columns and ranks around the widths of vectors and the sizes of tiles.
inline std::vector<Shape> odd_shapes() {
  std::vector<Shape> all;
  for (const auto& [rows, columns] : std::vector<std::pair<size_t, size_t>>{
           {1, 1}, {1, 100}, {100, 1}, {3, 15}, {4, 16}, {5, 17}, {31, 33}, {64, 64}, {67, 129}, {130, 47}}) {
    for (const size_t rank : {1u, 2u, 3u, 4u, 5u, 8u, 11u}) {
      if (rank <= std::min(rows, columns)) all.push_back({rows, columns, rank});
    }
  }
  return all;
}

inline std::string text(const Shape& s) {
  return std::to_string(s.rows) + " x " + std::to_string(s.columns) + " rank " + std::to_string(s.rank);
}

// Multiples of 2^-12 in (-1, 1), the same with every C++ library.
inline Floats numbers(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  Floats all(count);
  for (float& x : all) x = static_cast<float>(int(random() % 8191) - 4095) * 0x1p-12F;
  return all;
}

// m of exactly this rank, but for rounding.
inline Floats of_rank(size_t rows, size_t columns, size_t rank, uint32_t seed) {
  const Floats a = numbers(rows * rank, seed), b = numbers(columns * rank, seed + 1);
  Floats m(rows * columns);
  for (size_t i = 0; i < m.size(); i++) {
    double sum = 0;
    for (size_t k = 0; k < rank; k++) sum += double(a[i / columns * rank + k]) * b[i % columns * rank + k];
    m[i] = static_cast<float>(sum);
  }
  return m;
}

inline double length(const Floats& v) {
  double squares = 0;
  for (const float x : v) squares += double(x) * x;
  return std::sqrt(squares);
}
inline Floats difference(const Floats& a, const Floats& b) {
  Floats d(a.size());
  for (size_t i = 0; i < a.size(); i++) d[i] = a[i] - b[i];
  return d;
}

// Ranks that compress together: each has its error, all have the same q.
class Ranks {
 public:
  Ranks(const Shape& shape, size_t count, uint64_t seed)
      : shape_(shape), errors_(count, Floats(shape.elements())), q_(shape.q_elements()), seed_(seed) {
    start(shape, seed, q_.data());
  }

  // The sum over ranks, compressed.
  Floats call(const std::vector<Floats>& gradients) {
    Floats p(shape_.p_elements()), own(shape_.p_elements());
    for (size_t r = 0; r < errors_.size(); r++) {
      project(shape_, gradients[r].data(), errors_[r].data(), q_.data(), own.data());
      add(p, own);
    }
    orthonormalise(shape_, p.data());
    Floats q(shape_.q_elements()), own_q(shape_.q_elements());
    for (size_t r = 0; r < errors_.size(); r++) {
      project_back(shape_, gradients[r].data(), errors_[r].data(), p.data(), own_q.data());
      keep_error(shape_, gradients[r].data(), errors_[r].data(), p.data(), own_q.data());
      add(q, own_q);
    }
    Floats sum(shape_.elements());
    reconstruct(shape_, p.data(), q.data(), 1, sum.data());
    revive(shape_, seed_, q.data());
    q_ = q;
    return sum;
  }

  const std::vector<Floats>& errors() const { return errors_; }
  void forget_errors() {
    for (auto& e : errors_) e.assign(e.size(), 0);
  }

 private:
  static void add(Floats& to, const Floats& from) {
    for (size_t i = 0; i < to.size(); i++) to[i] += from[i];
  }

  Shape shape_;
  std::vector<Floats> errors_;
  Floats q_;
  uint64_t seed_;
};

}  // namespace plait::collectives::lowrank
