// (m + error) q: products of rows, each summed in kLanes lanes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/lowrank/project.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
//
#include "collectives/lowrank/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::lowrank::HWY_NAMESPACE {

// A tile of p is what fits in registers. Its size changes no bits.
constexpr size_t kTile = Floats::kVectors == 1 ? 4 : 2;

template <size_t R, size_t K>
struct Tile {
  Floats sums[R][K];

  // The products of kLanes columns, or fewer.
  template <class Where, class Source>
  HWY_INLINE void add(Where where, const Source& source, size_t columns, size_t at, const float* q) {
    Floats x[R];
    for (size_t r = 0; r < R; r++) x[r] = source.load(where, at + r * columns);
    for (size_t k = 0; k < K; k++) {
      const Floats y = where.load(q + k * columns);
      for (size_t r = 0; r < R; r++) sums[r][k] = sums[r][k] + x[r] * y;
    }
  }
};

// R rows from `row`, K columns of q from `k`.
template <size_t R, size_t K, class Source>
HWY_INLINE void project_tile(const Shape& s, const Source& source, size_t row, size_t k, const float* q,
                             float* p) {
  Tile<R, K> tile;
  for (auto& sums : tile.sums) {
    for (auto& sum : sums) sum = all(0.0F);
  }
  const float* column = q + k * s.columns;
  size_t j = 0;
  for (; j + kLanes <= s.columns; j += kLanes)
    tile.add(Whole(), source, s.columns, row * s.columns + j, column + j);
  if (j < s.columns) tile.add(First{s.columns - j}, source, s.columns, row * s.columns + j, column + j);
  for (size_t r = 0; r < R; r++) {
    for (size_t c = 0; c < K; c++) p[(k + c) * s.rows + row + r] = sum(tile.sums[r][c]);
  }
}

template <size_t R, class Source>
HWY_INLINE void project_rows(const Shape& s, const Source& source, size_t row, const float* q, float* p) {
  size_t k = 0;
  for (; k + kTile <= s.rank; k += kTile) project_tile<R, kTile>(s, source, row, k, q, p);
  if constexpr (kTile > 2) {
    for (; k + 2 <= s.rank; k += 2) project_tile<R, 2>(s, source, row, k, q, p);
  }
  for (; k < s.rank; k++) project_tile<R, 1>(s, source, row, k, q, p);
}

template <class Source>
HWY_INLINE void project_all(const Shape& s, const Source& source, const float* q, float* p) {
  size_t row = 0;
  for (; row + kTile <= s.rows; row += kTile) project_rows<kTile>(s, source, row, q, p);
  for (; row < s.rows; row++) project_rows<1>(s, source, row, q, p);
}

void project_here(const Shape& s, const float* m, const float* error, const float* q, float* p) {
  if (error == nullptr) return project_all(s, Plain{m}, q, p);
  project_all(s, Corrected{m, error}, q, p);
}

}  // namespace plait::collectives::lowrank::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::collectives::lowrank {
HWY_EXPORT(project_here);
void project(const Shape& shape, const float* m, const float* error, const float* q, float* p) noexcept {
  HWY_DYNAMIC_DISPATCH(project_here)(shape, m, error, q, p);
}
}  // namespace plait::collectives::lowrank
#endif
