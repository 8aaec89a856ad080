// (m + error)^T p: rows of m, scaled, are added to the columns of q, four at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/lowrank/project_back.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
//
#include "collectives/lowrank/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::lowrank::HWY_NAMESPACE {

// Rows of a step: part of the order of additions. With error twice as many lines are read, which may fall
// into one set of the first cache: four rows fit in it.
constexpr size_t kRows = 4;

template <size_t R>
HWY_INLINE Floats scaled_sum(const Floats (&x)[R], const float* p) {
  if constexpr (R == 1) {
    return x[0] * all(p[0]);
  } else {
    static_assert(R == 4);
    return (x[0] * all(p[0]) + x[1] * all(p[1])) + (x[2] * all(p[2]) + x[3] * all(p[3]));
  }
}

template <size_t R, class Where, class Source>
HWY_INLINE void add_columns(Where where, const Shape& s, const Source& source, size_t row, size_t j,
                            const float* p, float* q) {
  // The rows that come next: the caches are busy with q meanwhile and would not look so far ahead by
  // themselves.
  const size_t ahead = row + 2 * R <= s.rows ? R : 0;
  Floats x[R];
  for (size_t r = 0; r < R; r++) {
    x[r] = source.load(where, (row + r) * s.columns + j);
    source.prefetch((row + r + ahead) * s.columns + j);
  }
  for (size_t k = 0; k < s.rank; k++) {
    float* to = q + k * s.columns + j;
    where.store(where.load(to) + scaled_sum<R>(x, p + k * s.rows + row), to);
  }
}

template <size_t R, class Source>
HWY_INLINE void add_rows(const Shape& s, const Source& source, size_t row, const float* p, float* q) {
  size_t j = 0;
  for (; j + kLanes <= s.columns; j += kLanes) add_columns<R>(Whole(), s, source, row, j, p, q);
  if (j < s.columns) add_columns<R>(First{s.columns - j}, s, source, row, j, p, q);
}

template <class Source>
HWY_INLINE void project_back_all(const Shape& s, const Source& source, const float* p, float* q) {
  std::fill_n(q, s.q_elements(), 0.0F);
  size_t row = 0;
  for (; row + kRows <= s.rows; row += kRows) add_rows<kRows>(s, source, row, p, q);
  for (; row < s.rows; row++) add_rows<1>(s, source, row, p, q);
}

void project_back_here(const Shape& s, const float* m, const float* error, const float* p, float* q) {
  if (error == nullptr) return project_back_all(s, Plain{m}, p, q);
  project_back_all(s, Corrected{m, error}, p, q);
}

}  // namespace plait::collectives::lowrank::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::collectives::lowrank {
HWY_EXPORT(project_back_here);
void project_back(const Shape& shape, const float* m, const float* error, const float* p, float* q) noexcept {
  HWY_DYNAMIC_DISPATCH(project_back_here)(shape, m, error, p, q);
}
}  // namespace plait::collectives::lowrank
#endif
