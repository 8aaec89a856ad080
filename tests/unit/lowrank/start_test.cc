// Shapes, and what q is at first.
#include <gtest/gtest.h>

#include <limits>

#include "matrices.h"

namespace plait::collectives::lowrank {
namespace {

Result<Shape> of(std::vector<int64_t> dims, size_t elements, size_t rank) {
  return shape_of(dims, elements, rank);
}

TEST(Shape, FirstDimensionByTheOthers) {
  const auto shape = of({64, 32, 3, 3}, 64 * 32 * 9, 4);
  ASSERT_TRUE(shape.ok()) << shape.status().text();
  EXPECT_EQ(64u, shape->rows);
  EXPECT_EQ(288u, shape->columns);
  EXPECT_EQ(4u, shape->rank);
}

TEST(Shape, RankIsLowered) {
  EXPECT_EQ(64u, of({1000, 1000}, 1000000, 100)->rank);
  EXPECT_EQ(Code::unsupported, of({5, 1000}, 5000, 64).status().code());  // lowered to 5, which does not pay
}

TEST(Shape, WhatDoesNotPayIsUnsupported) {
  EXPECT_EQ(Code::unsupported, of({}, 100, 1).status().code());
  EXPECT_EQ(Code::unsupported, of({100}, 100, 1).status().code());
  EXPECT_EQ(Code::unsupported, of({100, 1}, 100, 1).status().code());
  EXPECT_EQ(Code::unsupported, of({1, 100}, 100, 1).status().code());
  EXPECT_EQ(Code::unsupported, of({0, 100}, 0, 1).status().code());
  EXPECT_EQ(Code::unsupported, of({2, 2}, 4, 1).status().code());
  EXPECT_TRUE(of({3, 3}, 9, 1).ok());
  EXPECT_EQ(Code::unsupported, of({8, 8}, 64, 4).status().code());
  EXPECT_TRUE(of({8, 8}, 64, 3).ok());
}

TEST(Shape, WhatIsWrongIsInvalid) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Code::invalid, of({10, 10}, 100, 0).status().code());
  EXPECT_EQ(Code::invalid, of({10, 10}, 99, 1).status().code());
  EXPECT_EQ(Code::invalid, of({-10, -10}, 100, 1).status().code());
  EXPECT_EQ(Code::invalid, of({kMost, kMost, kMost, kMost}, 100, 1).status().code());
  EXPECT_EQ(Code::invalid, of({kMost, 4}, size_t(kMost) * 4, 1).status().code());
  EXPECT_EQ(Code::invalid, of({0, kMost, kMost}, 1, 1).status().code());
}

TEST(Start, IsNormal) {
  const Shape s{1, 100000, 2};
  Floats q(s.q_elements());
  start(s, 50, q.data());
  double sum = 0, squares = 0, fourth = 0;
  size_t beyond_two = 0, beyond_four = 0;
  for (const double x : q) {
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    beyond_two += std::fabs(x) > 2;
    beyond_four += std::fabs(x) > 4;
  }
  const double n = double(q.size());
  EXPECT_NEAR(0, sum / n, 0.01);
  EXPECT_NEAR(1, squares / n, 0.02);
  EXPECT_NEAR(3, fourth / n, 0.15);
  EXPECT_NEAR(0.0455, double(beyond_two) / n, 0.003);
  EXPECT_LT(beyond_four, 40u);  // 12.7 are expected
  EXPECT_GT(beyond_four, 1u);
}

TEST(Start, ColumnsAndSeedsDiffer) {
  const Shape s{100, 100, 2};
  Floats q(s.q_elements()), other(s.q_elements()), again(s.q_elements());
  start(s, 51, q.data());
  start(s, 52, other.data());
  start(s, 51, again.data());
  EXPECT_EQ(q, again);
  for (size_t i = 0; i < s.columns; i++) {
    EXPECT_NE(q[i], q[s.columns + i]);
    EXPECT_NE(q[i], other[i]);
  }
}

TEST(Revive, StartsColumnsThatLeadNowhere) {
  const Shape s{100, 30, 4};
  Floats fresh(s.q_elements());
  start(s, 53, fresh.data());
  Floats q = numbers(s.q_elements(), 54);
  const Floats before = q;
  EXPECT_EQ(0u, revive(s, 53, q.data()));
  EXPECT_EQ(before, q);
  std::fill_n(q.begin() + 30, 30, -0.0F);
  q[3 * 30 + 7] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(2u, revive(s, 53, q.data()));
  for (size_t i = 0; i < q.size(); i++) EXPECT_EQ((i / 30 % 2 == 1 ? fresh : before)[i], q[i]);
}

}  // namespace
}  // namespace plait::collectives::lowrank
