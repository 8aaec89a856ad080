#include <gtest/gtest.h>

#include <limits>

#include "matrices.h"
#include "unit/reduce/targets_test.h"

namespace plait::collectives::lowrank {
namespace {

using Orthonormalise = EachTarget;
PLAIT_EACH_TARGET(Orthonormalise);

double dot(const Shape& s, const Floats& p, size_t a, size_t b) {
  double sum = 0;
  for (size_t i = 0; i < s.rows; i++) sum += double(p[a * s.rows + i]) * p[b * s.rows + i];
  return sum;
}

// Columns are orthogonal and of length 1, but for those listed, which are zero.
void expect_orthonormal(const Shape& s, const Floats& p, const std::vector<size_t>& zero = {}) {
  for (size_t a = 0; a < s.rank; a++) {
    const bool gone = std::find(zero.begin(), zero.end(), a) != zero.end();
    for (size_t b = 0; b <= a; b++) {
      const double want = a == b && !gone ? 1 : 0;
      ASSERT_NEAR(want, dot(s, p, a, b), gone ? 0 : 4e-7) << text(s) << ", columns " << a << " and " << b;
    }
  }
}

TEST_P(Orthonormalise, AnyColumns) {
  for (const Shape& s : odd_shapes()) {
    Floats p = numbers(s.p_elements(), 20);
    orthonormalise(s, p.data());
    expect_orthonormal(s, p);
  }
}

TEST_P(Orthonormalise, ManyColumns) {
  const Shape s{1000, 64, 64};
  Floats p = numbers(s.p_elements(), 21);
  orthonormalise(s, p.data());
  expect_orthonormal(s, p);
}

// Columns that differ in a thousandth: one pass leaves them 7e-6 away from orthogonal, a second repairs it.
TEST_P(Orthonormalise, ColumnsThatAreNearlyAlike) {
  const Shape s{203, 64, 6};
  Floats p = numbers(s.p_elements(), 22);
  const Floats noise = p;
  for (size_t i = 0; i < p.size(); i++) p[i] = noise[i % s.rows] + 1e-3F * noise[i];
  orthonormalise(s, p.data());
  expect_orthonormal(s, p);
}

TEST_P(Orthonormalise, ColumnsThatDependOnOthersBecomeZero) {
  const Shape s{77, 64, 4};
  Floats p = numbers(s.p_elements(), 23);
  for (size_t i = 0; i < s.rows; i++) {
    p[s.rows + i] = 0;
    p[3 * s.rows + i] = 3 * p[i] - p[2 * s.rows + i];
  }
  orthonormalise(s, p.data());
  expect_orthonormal(s, p, {1, 3});
}

TEST_P(Orthonormalise, ZeroStaysZero) {
  const Shape s{50, 40, 3};
  Floats p(s.p_elements());
  orthonormalise(s, p.data());
  EXPECT_EQ(Floats(s.p_elements()), p);
}

// Squares of these are not floats.
TEST_P(Orthonormalise, VerySmallAndVeryLarge) {
  for (const float scale : {1e-30F, 1e-37F, 1e30F, 3e38F}) {
    const Shape s{50, 40, 3};
    Floats p = numbers(s.p_elements(), 24);
    for (float& x : p) x *= scale;
    orthonormalise(s, p.data());
    expect_orthonormal(s, p);
  }
}

TEST_P(Orthonormalise, NotFiniteIsNanFromThatColumnOn) {
  using L = std::numeric_limits<float>;
  for (const float bad : {L::quiet_NaN(), L::infinity()}) {
    const Shape s{21, 40, 3};
    Floats p = numbers(s.p_elements(), 25);
    p[s.rows + 17] = bad;
    orthonormalise(s, p.data());
    for (size_t i = 0; i < p.size(); i++) ASSERT_EQ(i >= s.rows, std::isnan(p[i])) << "at " << i;
  }
}

}  // namespace
}  // namespace plait::collectives::lowrank
