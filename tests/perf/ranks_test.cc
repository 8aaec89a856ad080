#include "perf/ranks.h"

#include <gtest/gtest.h>

#include <array>

namespace plait::perf {
namespace {

TEST(Ranks, WhoseTimeAnIterationTakes) {
  const std::array<double, 4> us = {3, 1, 6, 2};
  EXPECT_EQ(time_of(Whose::first, us), 3);
  EXPECT_EQ(time_of(Whose::mean, us), 3);
  EXPECT_EQ(time_of(Whose::fastest, us), 1);
  EXPECT_EQ(time_of(Whose::slowest, us), 6);
  const std::array<double, 1> alone = {5};
  for (Whose whose : {Whose::first, Whose::mean, Whose::fastest, Whose::slowest})
    EXPECT_EQ(time_of(whose, alone), 5);
}

TEST(Ranks, HowCallsVary) {
  std::vector<double> us(200, 2.0);
  us[7] = 12;
  us[8] = 10;
  us[9] = 1;
  const Spread spread = spread_of(us);
  EXPECT_EQ(spread.least_us, 1);
  EXPECT_EQ(spread.most_us, 12);
  EXPECT_EQ(spread.p99_us, 2) << "198 of 200 are not above it";
  EXPECT_NEAR(spread.variation, 0.434, 0.001);  // of sqrt(0.8209)/2.085
  const Spread even = spread_of({4, 4, 4});
  EXPECT_EQ(even.variation, 0);
  EXPECT_EQ(even.p99_us, 4);
  EXPECT_EQ(spread_of({0, 0}).variation, 0);
}

}  // namespace
}  // namespace plait::perf
