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
  EXPECT_EQ(count_for(*find_collective("alltoallv"), d, 4, 64), 4u);
  EXPECT_EQ(count_for(*find_collective("reduce"), d, 4, 64), 16u);
  EXPECT_EQ(find_collective("alltoallw"), nullptr);
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
  for (const char* name : {"alltoall", "alltoallv", "gather", "scatterv", "reduce_scatterv"})
    EXPECT_DOUBLE_EQ(bus_factor(*find_collective(name), 4), 0.75) << name;
  EXPECT_DOUBLE_EQ(bus_factor(*find_collective("broadcast"), 4), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor(*find_collective("reduce"), 4), 1.0);
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
  at = place(make("gather", 2, 10, true), first, second);
  EXPECT_EQ(at.out, second);
  EXPECT_EQ(at.in, second + 80);
  at = place(make("scatterv", 2, 10, true), first, second);  // blocks of 15, 5, 15 and 5
  EXPECT_EQ(at.in, second);
  EXPECT_EQ(at.out, second + 80);
  at = place(make("alltoall", 3, 10, true), first, second);
  EXPECT_EQ(at.in, at.out);
  at = place(make("broadcast", 3, 10, false), first, second);
  EXPECT_NE(at.in, at.out);
}

// Uneven blocks are as long together as even ones; those of an alltoall fit each other, also in place.
TEST(Collective, UnevenBlocksFit) {
  for (const char* name : {"reduce_scatterv", "allgatherv", "gatherv", "scatterv", "alltoallv"}) {
    for (int n : {1, 2, 3, 4, 7}) {
      Case c = make(name, 0, 10, false);
      c.ranks = n;
      bool differ = n < 2;
      for (int from = 0; from < n; from++) {
        EXPECT_EQ(c.begin(n, from), 10u * size_t(n)) << name << n;
        for (int to = 0; to < n; to++) {
          differ = differ || c.block(to, from) != c.block(0, 0);
          if (c.collective->kind == Kind::alltoall) {
            EXPECT_EQ(c.block(to, from), c.block(from, to));
          }
        }
      }
      EXPECT_TRUE(differ) << name << n;
      EXPECT_EQ(place(c, nullptr, nullptr).counts.size(), size_t(n));
    }
  }
}

// Nothing that a call leaves undone may look right.
TEST(Collective, AnUntouchedOutputIsWrong) {
  std::vector<std::byte> first(160), second(160);
  for (const char* name :
       {"allreduce", "reduce", "reduce_scatter", "reduce_scatterv", "allgather", "allgatherv", "broadcast",
        "gather", "gatherv", "scatter", "scatterv", "alltoall", "alltoallv"}) {
    for (bool in_place : {false, true}) {
      Case c = make(name, 1, 10, in_place);
      // Where the others put nothing, only the root can tell; it is rank 1 then.
      if (c.collective->kind == Kind::reduce || c.collective->kind == Kind::gather) c.root = 1;
      Pattern pattern = make_pattern(c, 5);
      Pointers at = place(c, first.data(), second.data());
      fill_input(c, pattern, at);
      EXPECT_GE(count_wrong(c, pattern, at), 5u) << name << in_place;
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
