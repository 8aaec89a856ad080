#include "mlp/matrix.h"

#include <algorithm>
#include <cstring>

// The loops below once for each kind of processor; the fitting one is taken when the program starts.
// Sanitizers are not ready by then.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(PLAIT_SANITIZED)
#define MLP_CLONES __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define MLP_CLONES
#endif

namespace mlp {
namespace {

constexpr size_t kWidth = 16;  // columns of a tile
constexpr size_t kHeight = 8;  // and rows: as many sums as registers can hold
constexpr size_t kRowsBetween = 64;

// A row of a tile. Compilers make of it as many registers as it takes.
using Lanes = float __attribute__((vector_size(kWidth * sizeof(float))));

// `Rows` rows from `row` on, and `Width` columns from `column` on. 0: `rest` columns, fewer than kWidth.
template <size_t Rows, size_t Width>
[[gnu::always_inline]] inline void tile(const Left& left, const float* right, size_t columns, float* product,
                                        size_t row, size_t column, size_t rest) {
  const size_t bytes = (Width == 0 ? rest : Width) * sizeof(float);
  Lanes sums[Rows] = {};
  const float* from = left.data + row * left.row_step;
  for (size_t k = 0; k < left.columns; ++k) {
    Lanes b = {};
    std::memcpy(&b, right + k * columns + column, bytes);
    for (size_t r = 0; r < Rows; ++r) sums[r] += from[r * left.row_step + k * left.column_step] * b;
  }
  for (size_t r = 0; r < Rows; ++r) {
    const Lanes sum = sums[r];  // or else the compiler keeps `sums` in memory all along
    std::memcpy(product + (row + r) * columns + column, &sum, bytes);
  }
}

template <size_t Rows>
[[gnu::always_inline]] inline void tiles(const Left& left, const float* right, size_t columns, float* product,
                                         size_t row) {
  size_t column = 0;
  for (; column + kWidth <= columns; column += kWidth)
    tile<Rows, kWidth>(left, right, columns, product, row, column, 0);
  if (column < columns) tile<Rows, 0>(left, right, columns, product, row, column, columns - column);
}

MLP_CLONES void multiply_rows(const Left& left, const float* right, size_t columns, float* product,
                              size_t row, size_t end) {
  for (; row + kHeight <= end; row += kHeight) tiles<kHeight>(left, right, columns, product, row);
  for (; row < end; ++row) tiles<1>(left, right, columns, product, row);
}

}  // namespace

void multiply(const Left& left, const float* right, size_t columns, float* product,
              const std::function<void()>& between) {
  for (size_t row = 0; row < left.rows; row += kRowsBetween) {
    multiply_rows(left, right, columns, product, row, std::min(row + kRowsBetween, left.rows));
    if (between) between();
  }
}

Matrix transposed(const Matrix& m) {
  Matrix t(m.columns, m.rows);
  for (size_t r = 0; r < m.rows; ++r)
    for (size_t c = 0; c < m.columns; ++c) t.row(c)[r] = m.row(r)[c];
  return t;
}

}  // namespace mlp
