// p q^T, as it is or taken from m + error.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/lowrank/product.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
//
#include "collectives/lowrank/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::lowrank::HWY_NAMESPACE {

// What becomes of the product at an element.
struct Scale {
  float* m;
  float scale;
  template <class Where>
  HWY_INLINE void take(Where where, const Floats& product, size_t at) const {
    where.store(all(scale) * product, m + at);
  }
};
struct Subtract {
  const float* m;
  float* error;
  template <class Where>
  HWY_INLINE void take(Where where, const Floats& product, size_t at) const {
    where.store((where.load(m + at) + where.load(error + at)) - product, error + at);
  }
};

template <size_t R, class Where, class Result>
HWY_INLINE void multiply(Where where, const Shape& s, size_t row, size_t j, const float* p, const float* q,
                         const Result& result) {
  Floats product[R];
  for (auto& x : product) x = all(0.0F);
  for (size_t k = 0; k < s.rank; k++) {
    const Floats y = where.load(q + k * s.columns + j);
    for (size_t r = 0; r < R; r++) product[r] = product[r] + all(p[k * s.rows + row + r]) * y;
  }
  for (size_t r = 0; r < R; r++) result.take(where, product[r], (row + r) * s.columns + j);
}

template <size_t R, class Result>
HWY_INLINE void multiply_rows(const Shape& s, size_t row, const float* p, const float* q,
                              const Result& result) {
  size_t j = 0;
  for (; j + kLanes <= s.columns; j += kLanes) multiply<R>(Whole(), s, row, j, p, q, result);
  if (j < s.columns) multiply<R>(First{s.columns - j}, s, row, j, p, q, result);
}

template <class Result>
HWY_INLINE void multiply_all(const Shape& s, const float* p, const float* q, const Result& result) {
  constexpr size_t kRows = 4;  // to load q less often
  size_t row = 0;
  for (; row + kRows <= s.rows; row += kRows) multiply_rows<kRows>(s, row, p, q, result);
  for (; row < s.rows; row++) multiply_rows<1>(s, row, p, q, result);
}

void keep_error_here(const Shape& s, const float* m, float* error, const float* p, const float* q) {
  multiply_all(s, p, q, Subtract{m, error});
}
void reconstruct_here(const Shape& s, const float* p, const float* q, float scale, float* m) {
  multiply_all(s, p, q, Scale{m, scale});
}

}  // namespace plait::collectives::lowrank::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::collectives::lowrank {
HWY_EXPORT(keep_error_here);
HWY_EXPORT(reconstruct_here);
void keep_error(const Shape& shape, const float* m, float* error, const float* p, const float* q) noexcept {
  HWY_DYNAMIC_DISPATCH(keep_error_here)(shape, m, error, p, q);
}
void reconstruct(const Shape& shape, const float* p, const float* q, float scale, float* m) noexcept {
  HWY_DYNAMIC_DISPATCH(reconstruct_here)(shape, p, q, scale, m);
}
}  // namespace plait::collectives::lowrank
#endif
