// The arithmetic of PowerSGD (Vogels, Karimireddy, Jaggi 2019): a matrix as the product of two thin ones,
// found by one step of subspace iteration that goes on where the call before ended. Pure functions: nothing
// allocates, and the same inputs give the same bits on every processor, since ranks compute from equal sums
// what they must hold alike.
//
// Matrices lie row by row. m, error: rows x columns; p, the left factor: rows x rank; q, the right one:
// columns x rank.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plait::collectives::lowrank {

constexpr size_t kMostRank = 64;

struct Shape {
  size_t rows = 0, columns = 0, rank = 0;  // rank: 1 to kMostRank
};

// Numbers to begin with: normally distributed, of the seed alone.
void start(const Shape& shape, uint64_t seed, float* q) noexcept;
// p = (m + error) q
void project(const Shape& shape, const float* m, const float* error, const float* q, float* p) noexcept;
// Makes the columns of p orthonormal; those that depend on others, to rounding, become zero. A NaN stays one.
void orthonormalise(const Shape& shape, float* p) noexcept;
// q = transposed (m + error), times p
void project_back(const Shape& shape, const float* m, const float* error, const float* p, float* q) noexcept;
// error = m + error - p times transposed q: with this rank's own q, the errors of all ranks sum to what the
// sum lacks.
void keep_error(const Shape& shape, const float* m, float* error, const float* p, const float* q) noexcept;
// m = scale times p times transposed q
void reconstruct(const Shape& shape, const float* p, const float* q, float scale, float* m) noexcept;

}  // namespace plait::collectives::lowrank
