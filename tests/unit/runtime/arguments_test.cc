#include "runtime/arguments.h"

#include <gtest/gtest.h>

#include "runtime/board.h"

namespace plait::runtime {
namespace {

using collectives::Collective;

constexpr size_t kCounts[] = {3, 0, 5, 2}, kBegins[] = {20, 0, 4, 11};
constexpr int kRanks = 4;

Args even(Collective collective, uint64_t count, int32_t root = 1) {
  Args a;
  a.collective = collective;
  a.count = count;
  a.root = root;
  a.dtype = collectives::Dtype::float32;
  return a;
}

// What check() makes of a call with counts on `rank`.
Args uneven(Collective collective, int32_t rank, bool packed = false) {
  Args a = even(collective, kCounts[rank]);
  a.uneven = true;
  const Blocks blocks{kCounts, packed ? nullptr : kBegins};
  if (has_in_blocks(a, rank)) a.in_blocks = blocks;
  if (has_out_blocks(a, rank)) a.out_blocks = blocks;
  return a;
}

TEST(Arguments, ExtentsOfEvenCalls) {
  auto expect = [](Collective collective, int32_t rank, uint64_t in, uint64_t out) {
    const Extents e = extents_of(even(collective, 10), rank, kRanks);
    EXPECT_EQ(e.in, in) << collectives::name_of(collective) << rank;
    EXPECT_EQ(e.out, out) << collectives::name_of(collective) << rank;
  };
  expect(Collective::allreduce, 0, 10, 10);
  expect(Collective::reduce, 0, 10, 0);
  expect(Collective::reduce, 1, 10, 10);
  expect(Collective::reduce_scatter, 0, 40, 10);
  expect(Collective::allgather, 0, 10, 40);
  expect(Collective::broadcast, 0, 0, 10);
  expect(Collective::broadcast, 1, 10, 10);
  expect(Collective::gather, 0, 10, 0);
  expect(Collective::gather, 1, 10, 40);
  expect(Collective::scatter, 0, 0, 10);
  expect(Collective::scatter, 1, 40, 10);
  expect(Collective::alltoall, 0, 40, 40);
  expect(Collective::barrier, 0, 0, 0);
}

TEST(Arguments, ExtentsOfBlocksReachToTheLastOfThem) {
  auto expect = [](const Args& a, int32_t rank, uint64_t in, uint64_t out) {
    const Extents e = extents_of(a, rank, kRanks);
    EXPECT_EQ(e.in, in) << collectives::name_of(a.collective) << rank;
    EXPECT_EQ(e.out, out) << collectives::name_of(a.collective) << rank;
  };
  expect(uneven(Collective::reduce_scatter, 2, true), 2, 10, 5);
  expect(uneven(Collective::allgather, 3), 3, 2, 23);
  expect(uneven(Collective::gather, 0), 0, 3, 0);
  expect(uneven(Collective::gather, 1), 1, 0, 23);
  expect(uneven(Collective::scatter, 1, true), 1, 10, 0);
  expect(uneven(Collective::scatter, 2), 2, 0, 5);
  expect(uneven(Collective::alltoall, 0), 0, 23, 23);
}

TEST(Arguments, SumsAndEndsThatAreTooLargeAreFound) {
  uint64_t end, sum;
  const size_t minus_one[] = {1, size_t(-1)}, large[] = {60, 60}, one[] = {1, 1}, far[] = {0, size_t(-1)};
  EXPECT_FALSE(measure({minus_one, nullptr}, 2, 1000, &end, &sum));
  EXPECT_FALSE(measure({large, nullptr}, 2, 100, &end, &sum));
  EXPECT_FALSE(measure({one, far}, 2, 1000, &end, &sum));
  ASSERT_TRUE(measure({kCounts, kBegins}, kRanks, 23, &end, &sum));
  EXPECT_EQ(end, 23u);
  EXPECT_EQ(sum, 10u);
  EXPECT_FALSE(measure({kCounts, kBegins}, kRanks, 22, &end, &sum));
}

TEST(Arguments, BlocksThatOverlapAreNamed) {
  int32_t rank = -1;
  EXPECT_EQ(overlapping({kCounts, nullptr}, kRanks, &rank), -1);
  EXPECT_EQ(overlapping({kCounts, kBegins}, kRanks, &rank), -1);
  const size_t clash[] = {7, 8, 4, 0};  // 2 covers 4..8, 0 begins in it; 1 is empty
  EXPECT_EQ(overlapping({kCounts, clash}, kRanks, &rank), 0);
  EXPECT_EQ(rank, 2);
}

TEST(Arguments, InPlaceIsWhereThePublicHeaderSays) {
  float buffer[64] = {};
  auto placed = [&](Args a, int32_t rank, size_t in, size_t out) {
    a.in = buffer + in;
    a.out = buffer + out;
    return in_place(a, rank);
  };
  for (Collective whole : {Collective::allreduce, Collective::alltoall}) {
    EXPECT_TRUE(placed(even(whole, 4), 0, 0, 0));
    EXPECT_FALSE(placed(even(whole, 4), 0, 0, 32));
    EXPECT_FALSE(placed(even(whole, 0), 0, 0, 0)) << "of nothing, all ranks say the same";
  }
  for (Collective roots : {Collective::broadcast, Collective::reduce}) {
    EXPECT_TRUE(placed(even(roots, 4), 1, 0, 0));
    EXPECT_FALSE(placed(even(roots, 4), 2, 0, 0)) << "the root's affair";
  }
  EXPECT_TRUE(placed(even(Collective::reduce_scatter, 4), 3, 0, 12));
  EXPECT_FALSE(placed(even(Collective::reduce_scatter, 4), 3, 0, 0));
  EXPECT_TRUE(placed(even(Collective::allgather, 4), 3, 12, 0));
  EXPECT_TRUE(placed(even(Collective::gather, 4), 1, 4, 0));
  EXPECT_FALSE(placed(even(Collective::gather, 4), 0, 0, 0));
  EXPECT_TRUE(placed(even(Collective::scatter, 4), 1, 0, 4));
  EXPECT_TRUE(placed(uneven(Collective::allgather, 2), 2, 4, 0));
  EXPECT_FALSE(placed(uneven(Collective::allgather, 2), 2, 0, 0));
  EXPECT_TRUE(placed(uneven(Collective::reduce_scatter, 2, true), 2, 0, 3));
}

TEST(Arguments, ShapesDifferByContentNotByAddress) {
  const Args a = uneven(Collective::allgather, 0);
  size_t counts[kRanks], begins[kRanks];
  std::copy(kCounts, kCounts + kRanks, counts);
  std::copy(kBegins, kBegins + kRanks, begins);
  Args b = a;
  b.out_blocks = {counts, begins};
  EXPECT_TRUE(same_shape(a, b, kRanks));
  EXPECT_EQ(hash_of(a, kRanks), hash_of(b, kRanks));
  EXPECT_EQ(hash_of_counts(kCounts, kRanks), hash_of_counts(counts, kRanks));
  begins[2]++;
  EXPECT_FALSE(same_shape(a, b, kRanks));
  begins[2]--;
  counts[3]++;
  EXPECT_FALSE(same_shape(a, b, kRanks));
  EXPECT_NE(hash_of_counts(kCounts, kRanks), hash_of_counts(counts, kRanks));
  b.out_blocks = {kCounts, nullptr};
  EXPECT_FALSE(same_shape(a, b, kRanks));
  EXPECT_FALSE(same_shape(even(Collective::allgather, 3), a, kRanks));
}

TEST(Describe, CallsWithCounts) {
  const collectives::Methods methods(12);
  CallId id{.kind = uint32_t(Collective::allgather),
            .dtype = 7,
            .in_place = 0,
            .count = 300,
            .counts = 12,
            .counts_hash = 0x1c5a};
  EXPECT_EQ(describe(id, methods), "allgatherv(12 counts #00001c5a, 300 elements, float32)");
  CallId other = id;
  other.counts_hash++;
  EXPECT_NE(id, other);
  id = {.kind = uint32_t(Collective::gather), .dtype = 7, .root = 3, .counts = 12};
  EXPECT_EQ(describe(id, methods), "gatherv(12 counts, float32, root=3)");
  id.counts = 0;
  EXPECT_EQ(describe(id, methods), "gather(count=0, float32, root=3)");
  id.algorithm = methods.find(Collective::gather, "linear")->number + 1;
  EXPECT_EQ(describe(id, methods), "gather(count=0, float32, root=3) by linear");
  id.algorithm = methods.size() + 1;  // a peer's memory may hold anything
  EXPECT_EQ(describe(id, methods), "gather(count=0, float32, root=3)");
}

}  // namespace
}  // namespace plait::runtime
