// Products of matrices: all that takes time here. Everything is row by row, of float32.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace mlp {

struct Matrix {
  size_t rows = 0, columns = 0;
  std::vector<float> data;

  Matrix() = default;
  Matrix(size_t r, size_t c) : rows(r), columns(c), data(r * c) {}
  float* row(size_t r) { return &data[r * columns]; }
  const float* row(size_t r) const { return &data[r * columns]; }
};

// The left factor of a product: a matrix, or without copying it, a transposed one.
struct Left {
  const float* data;
  size_t rows, columns;
  size_t row_step, column_step;  // from an element to the next row's and the next column's

  static Left plain(const float* data, size_t rows, size_t columns) {
    return {data, rows, columns, columns, 1};
  }
  static Left transposed(const float* data, size_t rows, size_t columns) {
    return {data, columns, rows, 1, columns};
  }
};

// product = left x right, where right has left.columns rows of `columns` and product left.rows of them.
// `between` is called again and again meanwhile.
void multiply(const Left& left, const float* right, size_t columns, float* product,
              const std::function<void()>& between = {});

Matrix transposed(const Matrix& m);

}  // namespace mlp
