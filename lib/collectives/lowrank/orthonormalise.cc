// Modified Gram-Schmidt, in double precision: squares of floats neither overflow nor vanish there.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/lowrank/orthonormalise.cc"
#include "base/simd_targets.h"
#include "hwy/foreach_target.h"
//
#include <cmath>
#include <limits>

#include "collectives/lowrank/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plait::collectives::lowrank::HWY_NAMESPACE {

// Of a column that depends on others only rounding is left, some 2^-24 of its length an operation.
constexpr double kDependent = 0x1p-20;

using Narrow = hn::Rebind<float, Doubles::D>;  // as many floats as a vector of doubles has lanes

HWY_INLINE Doubles load(const float* p) {
  Doubles w;
  for (size_t i = 0; i < Doubles::kVectors; i++)
    w.v[i] = hn::PromoteTo(Doubles::D(), hn::LoadU(Narrow(), p + i * Doubles::kStep));
  return w;
}
HWY_INLINE void store(const Doubles& w, float* p) {
  for (size_t i = 0; i < Doubles::kVectors; i++)
    hn::StoreU(hn::DemoteTo(Narrow(), w.v[i]), Narrow(), p + i * Doubles::kStep);
}

double dot(const float* a, const float* b, size_t count) {
  Doubles total = all(0.0);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) total = total + load(a + i) * load(b + i);
  if (i < count) {
    float last_a[kLanes] = {}, last_b[kLanes] = {};
    std::copy_n(a + i, count - i, last_a);
    std::copy_n(b + i, count - i, last_b);
    total = total + load(last_a) * load(last_b);
  }
  return sum(total);
}

// a -= factor b
void subtract(float* a, const float* b, double factor, size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(load(a + i) - all(factor) * load(b + i), a + i);
  for (; i < count; i++) a[i] = static_cast<float>(double(a[i]) - factor * double(b[i]));
}

void multiply(float* a, double factor, size_t count) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(all(factor) * load(a + i), a + i);
  for (; i < count; i++) a[i] = static_cast<float>(factor * double(a[i]));
}

void orthonormalise_here(const Shape& s, float* p) {
  for (size_t k = 0; k < s.rank; k++) {
    float* column = p + k * s.rows;
    const double before = std::sqrt(dot(column, column, s.rows));
    for (int pass = 0; pass < 2; pass++) {
      for (size_t earlier = 0; earlier < k; earlier++) {
        const float* other = p + earlier * s.rows;
        subtract(column, other, dot(other, column, s.rows), s.rows);
      }
    }
    const double length = std::sqrt(dot(column, column, s.rows));
    if (!std::isfinite(length)) {
      std::fill_n(column, s.rows, std::numeric_limits<float>::quiet_NaN());
    } else if (length <= kDependent * before) {
      std::fill_n(column, s.rows, 0.0F);
    } else {
      multiply(column, 1 / length, s.rows);
    }
  }
}

}  // namespace plait::collectives::lowrank::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::collectives::lowrank {
HWY_EXPORT(orthonormalise_here);
void orthonormalise(const Shape& shape, float* p) noexcept {
  HWY_DYNAMIC_DISPATCH(orthonormalise_here)(shape, p);
}
}  // namespace plait::collectives::lowrank
#endif
