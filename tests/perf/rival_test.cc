#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "perf/rival/order.h"
#include "perf/rival/rival.h"

namespace plait::perf::rival {
namespace {

Order some_order() { return {Kind::gather, 1000, 2, 1, 5, 20, 7}; }

TEST(RivalOrder, IsReadAsItWasWritten) {
  const Order o = some_order();
  const auto read = read_order(write_order(o), 3);
  ASSERT_TRUE(read);
  EXPECT_EQ(write_order(*read), write_order(o));
  EXPECT_EQ(read->kind, Kind::gather);
  EXPECT_EQ(read->count, 1000U);
}

TEST(RivalOrder, BeyondItsBoundsIsNone) {
  EXPECT_FALSE(read_order(write_order(some_order()), 2)) << "no rank 2";
  for (const char* line :
       {"", "0", "0 1 0 0 5 20", "0 1 0 0 5 20 1 9", "9 1 0 0 5 20 1", "-1 1 0 0 5 20 1",
        "0 2147483649 0 0 5 20 1", "0 1 -1 0 5 20 1", "0 1 0 2 5 20 1", "0 1 0 0 -5 20 1",
        "0 1 0 0 5 1000001 1", "0 1 0 0 5 20 0", "0 x 0 0 5 20 1", "0 1 0 0 5 20 99999999999"})
    EXPECT_FALSE(read_order(line, 3)) << line;
}

TEST(RivalOrder, SamplesComeBackWhole) {
  const std::vector<double> us = {0.25, 1e-3, 123456.789, 0};
  EXPECT_EQ(read_samples(write_samples(us), 4), us);
  EXPECT_FALSE(read_samples(write_samples(us), 3));
  EXPECT_FALSE(read_samples(write_samples(us), 5));
  for (const char* line : {"", "none", "1 2 x", "1 -2 3", "1 2 inf", "1 2 nan"})
    EXPECT_FALSE(read_samples(line, 3)) << line;
}

TEST(RivalOrder, TheLargerBufferHasAllBlocks) {
  Order o = some_order();
  EXPECT_EQ(most_count(o, 3), 3000U);
  o.kind = Kind::allreduce;
  EXPECT_EQ(most_count(o, 3), 1000U);
}

}  // namespace
}  // namespace plait::perf::rival
