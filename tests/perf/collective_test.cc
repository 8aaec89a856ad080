#include "perf/collective.h"

#include <gtest/gtest.h>

#include <vector>

namespace plait::perf {
namespace {

Case make(const char* name, int rank, size_t count, bool in_place) {
  return {find_collective(name), find_dtype("float32"), find_op("sum"), rank, 4, 2, count, in_place};
}

TEST(Collective, CountsAsNcclTests) {
  const Dtype& d = *find_dtype("float32");
  EXPECT_EQ(count_for(*find_collective("allreduce"), d, 4, 64), 16u);
  EXPECT_EQ(count_for(*find_collective("allgather"), d, 4, 64), 4u);
  EXPECT_EQ(count_for(*find_collective("reduce_scatter"), d, 4, 8), 1u);
  EXPECT_EQ(count_for(*find_collective("reduce_scatter"), d, 4, 0), 0u);
  EXPECT_EQ(count_for(*find_collective("barrier"), d, 4, 64), 0u);
  EXPECT_EQ(find_collective("alltoall"), nullptr);
}

TEST(Collective, SizeIsThatOfTheLargerBuffer) {
  EXPECT_EQ(make("allreduce", 0, 10, false).bytes(), 40u);
  EXPECT_EQ(make("allgather", 0, 10, false).bytes(), 160u);
  EXPECT_EQ(make("allgather", 0, 10, false).in_count(), 10u);
  EXPECT_EQ(make("reduce_scatter", 0, 10, false).in_count(), 40u);
  EXPECT_EQ(make("reduce_scatter", 0, 10, false).out_count(), 10u);
}

TEST(Collective, BusBandwidthFactors) {
  EXPECT_DOUBLE_EQ(bus_factor(*find_collective("allreduce"), 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(*find_collective("allgather"), 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(*find_collective("broadcast"), 4), 1.0);
}

TEST(Collective, InPlaceIsWhereThePublicHeaderSays) {
  std::byte first[160], second[160];
  Pointers at = place(make("allgather", 3, 10, true), first, second);
  EXPECT_EQ(at.out, second);
  EXPECT_EQ(at.in, second + 120);
  at = place(make("reduce_scatter", 3, 10, true), first, second);
  EXPECT_EQ(at.in, second);
  EXPECT_EQ(at.out, second + 120);
  at = place(make("allreduce", 3, 10, true), first, second);
  EXPECT_EQ(at.in, at.out);
  at = place(make("broadcast", 3, 10, false), first, second);
  EXPECT_NE(at.in, at.out);
}

// Nothing that a call leaves undone may look right.
TEST(Collective, AnUntouchedOutputIsWrong) {
  std::vector<std::byte> first(160), second(160);
  for (const char* name : {"allreduce", "reduce_scatter", "allgather", "broadcast"}) {
    for (bool in_place : {false, true}) {
      Case c = make(name, 1, 10, in_place);
      Pattern pattern = make_pattern(c, 5);
      Pointers at = place(c, first.data(), second.data());
      fill_input(c, pattern, at);
      EXPECT_GT(count_wrong(c, pattern, at), 5u) << name << in_place;
    }
  }
}

TEST(Collective, ADamagedInputIsWrong) {
  std::vector<std::byte> first(40), second(40);
  Case c = make("broadcast", 2, 10, false);  // the root
  Pattern pattern = make_pattern(c, 5);
  Pointers at = place(c, first.data(), second.data());
  fill_input(c, pattern, at);
  std::copy(first.begin(), first.end(), second.begin());
  EXPECT_EQ(count_wrong(c, pattern, at), 0u);
  first[7] ^= std::byte{1};
  EXPECT_EQ(count_wrong(c, pattern, at), 1u);
}

}  // namespace
}  // namespace plait::perf
