// Compression of a matrix to low rank: the arithmetic of PowerSGD (Vogels, Karimireddy, Jaggi 2019). Pure
// functions; nothing allocates, waits or communicates. Each rank has a gradient m and what earlier calls left
// out, its error; a call is
//
//   project        p = (m + error) q, with the q of the call before, or start()
//   allreduce p, sum
//   orthonormalise p
//   project_back   q = (m + error)^T p
//   keep_error     error = m + error - p q^T, with the q of this rank alone
//   allreduce q, sum
//   reconstruct    m = scale p q^T, scale 1 for the sum, 1 / ranks for the average
//   revive         q, for the next call
//
// so that the sum of all m plus that of all errors stays what it was: nothing is lost, some of it comes
// later. What travels is rank * (rows + columns) numbers in place of rows * columns.
//
// Matrices: m and error are row after row, as tensors are; p (rows x rank) and q (columns x rank) are column
// after column. No alignment is required; no two arguments may overlap.
//
// Results are the same bits on every processor for the same input (and rounding mode, and subnormals kept):
// additions have a fixed order, whatever the width of vectors, and nothing is fused. So ranks that have the
// same p stay alike. What is not finite ends as NaN: where m or error holds Inf or NaN, so does the
// reconstruction. Which NaN is unspecified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"

namespace plait::collectives::lowrank {

constexpr size_t kMaxRank = 64;

struct Shape {
  size_t rows = 0, columns = 0, rank = 0;

  size_t elements() const noexcept { return rows * columns; }
  size_t p_elements() const noexcept { return rows * rank; }
  size_t q_elements() const noexcept { return columns * rank; }
};

// A tensor of `dims` as a matrix: the first dimension by all others. `rank` is lowered to what such a matrix
// can have, and to kMaxRank. `invalid` where the dimensions do not multiply to `elements` or the rank is 0;
// `unsupported` where compression does not pay: fewer than two dimensions, or p and q together as large as
// the matrix.
Result<Shape> shape_of(std::span<const int64_t> dims, size_t elements, size_t rank);

// q = standard normal numbers, from the seed and the place in q alone: alike on all ranks.
void start(const Shape& shape, uint64_t seed, float* q) noexcept;

// Gives the columns of q that are zero or not finite what start() gives them, and returns how many there
// were. Without, a column that was zero once (of a gradient that was, or that had a lower rank), or NaN,
// stays so in all further calls. The error is the caller's to clear after a gradient that was not finite.
size_t revive(const Shape& shape, uint64_t seed, float* q) noexcept;

// p = (m + error) q. Without error feedback `error` is null.
void project(const Shape& shape, const float* m, const float* error, const float* q, float* p) noexcept;

// Makes the columns of p orthogonal, of length 1: modified Gram-Schmidt, each column twice. A column that
// depends on those before it, as far as rounding can tell, becomes zero; one that is not finite becomes NaN
// in all rows.
void orthonormalise(const Shape& shape, float* p) noexcept;

// q = (m + error)^T p; `error` may be null.
void project_back(const Shape& shape, const float* m, const float* error, const float* p, float* q) noexcept;

// error = m + error - p q^T, where q is what project_back gave, before the allreduce.
void keep_error(const Shape& shape, const float* m, float* error, const float* p, const float* q) noexcept;

// m = scale p q^T
void reconstruct(const Shape& shape, const float* p, const float* q, float scale, float* m) noexcept;

}  // namespace plait::collectives::lowrank
