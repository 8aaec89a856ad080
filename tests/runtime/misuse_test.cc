// Wrong uses of the collectives: refused by name, nothing is started, and the communicator goes on.
#include "support/ranks.h"

namespace plait::test {
namespace {

constexpr size_t kHuge = SIZE_MAX / 2;

// A communicator of one rank, its root. Each call has one thing wrong.
class Misuse : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(c.status, PLAIT_OK) << c.error; }
  void TearDown() override { EXPECT_EQ(plait_barrier(c.comm, nullptr, nullptr), PLAIT_OK) << c.last(); }

  void refused(plait_status status, const char* function, const char* word) {
    EXPECT_EQ(status, PLAIT_ERR_INVALID) << function;
    EXPECT_TRUE(contains(c.last(), function) && contains(c.last(), word)) << word << ": " << c.last();
  }

  Comm c{fresh_job(), 0, 1};
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {};
  const size_t four = 4, none = 0, huge = kHuge, one = 1;
  static constexpr plait_dtype kType = PLAIT_FLOAT32;
};

TEST_F(Misuse, NoCommunicator) {
  EXPECT_EQ(plait_reduce(nullptr, x, y, 4, kType, PLAIT_SUM, 0, nullptr, nullptr), PLAIT_ERR_INVALID);
  EXPECT_TRUE(contains(plait_last_error(nullptr), "plait_reduce"));
  EXPECT_EQ(plait_alltoallv(nullptr, x, &four, nullptr, y, &four, nullptr, kType, nullptr, nullptr),
            PLAIT_ERR_INVALID);
  EXPECT_TRUE(contains(plait_last_error(nullptr), "plait_alltoallv"));
}

TEST_F(Misuse, NoPlan) {
  refused(plait_plan_reduce(c.comm, x, y, 4, kType, PLAIT_SUM, 0, nullptr, nullptr), "plait_plan_reduce",
          "plan is NULL");
  refused(plait_plan_gatherv(c.comm, x, 4, y, &four, nullptr, kType, 0, nullptr, nullptr),
          "plait_plan_gatherv", "plan is NULL");
}

TEST_F(Misuse, NoBuffer) {
  refused(plait_reduce(c.comm, nullptr, y, 4, kType, PLAIT_SUM, 0, nullptr, nullptr), "plait_reduce", "NULL");
  refused(plait_gather(c.comm, x, nullptr, 4, kType, 0, nullptr, nullptr), "plait_gather", "NULL");
  refused(plait_scatter(c.comm, nullptr, y, 4, kType, 0, nullptr, nullptr), "plait_scatter", "NULL");
  refused(plait_alltoall(c.comm, x, nullptr, 4, kType, nullptr, nullptr), "plait_alltoall", "NULL");
  refused(plait_allgatherv(c.comm, nullptr, y, &four, nullptr, kType, nullptr, nullptr), "plait_allgatherv",
          "NULL");
  refused(plait_reduce_scatterv(c.comm, x, nullptr, &four, kType, PLAIT_SUM, nullptr, nullptr),
          "plait_reduce_scatterv", "NULL");
}

TEST_F(Misuse, NoCounts) {
  refused(plait_allgatherv(c.comm, x, y, nullptr, nullptr, kType, nullptr, nullptr), "plait_allgatherv",
          "counts of out");
  refused(plait_reduce_scatterv(c.comm, x, y, nullptr, kType, PLAIT_SUM, nullptr, nullptr),
          "plait_reduce_scatterv", "counts of in");
  refused(plait_gatherv(c.comm, x, 4, y, nullptr, nullptr, kType, 0, nullptr, nullptr), "plait_gatherv",
          "counts of out");
  refused(plait_scatterv(c.comm, x, nullptr, nullptr, y, 4, kType, 0, nullptr, nullptr), "plait_scatterv",
          "counts of in");
  refused(plait_alltoallv(c.comm, x, nullptr, nullptr, y, &four, nullptr, kType, nullptr, nullptr),
          "plait_alltoallv", "counts of in");
  refused(plait_alltoallv(c.comm, x, &four, nullptr, y, nullptr, nullptr, kType, nullptr, nullptr),
          "plait_alltoallv", "counts of out");
}

TEST_F(Misuse, CountsAndDisplacementsThatOverflow) {
  refused(plait_gather(c.comm, x, y, kHuge, kType, 0, nullptr, nullptr), "plait_gather", "overflows");
  refused(plait_alltoall(c.comm, x, y, size_t(-3), kType, nullptr, nullptr), "plait_alltoall", "overflows");
  refused(plait_allgatherv(c.comm, x, y, &huge, nullptr, kType, nullptr, nullptr), "plait_allgatherv",
          "overflow");
  refused(plait_reduce_scatterv(c.comm, x, y, &huge, kType, PLAIT_SUM, nullptr, nullptr),
          "plait_reduce_scatterv", "overflow");
  refused(plait_scatterv(c.comm, x, &four, &huge, y, 4, kType, 0, nullptr, nullptr), "plait_scatterv",
          "overflow");
  const size_t minus_one = size_t(-1);  // wraps around when the count is added
  refused(plait_gatherv(c.comm, x, 4, y, &four, &minus_one, kType, 0, nullptr, nullptr), "plait_gatherv",
          "overflow");
  refused(plait_alltoallv(c.comm, x, &four, nullptr, y, &four, &minus_one, kType, nullptr, nullptr),
          "plait_alltoallv", "overflow");
}

TEST_F(Misuse, BuffersThatOverlap) {
  refused(plait_reduce(c.comm, x, x + 1, 4, kType, PLAIT_SUM, 0, nullptr, nullptr), "plait_reduce",
          "overlap");
  refused(plait_alltoall(c.comm, x, x + 1, 4, kType, nullptr, nullptr), "plait_alltoall", "overlap");
  // In place is where the displacement says, not at the beginning.
  refused(plait_allgatherv(c.comm, x, x, &four, &one, kType, nullptr, nullptr), "plait_allgatherv",
          "overlap");
  EXPECT_EQ(plait_allgatherv(c.comm, x + 1, x, &four, &one, kType, nullptr, nullptr), PLAIT_OK) << c.last();
  refused(plait_scatterv(c.comm, x, &four, &one, x + 2, 4, kType, 0, nullptr, nullptr), "plait_scatterv",
          "overlap");
  EXPECT_EQ(plait_scatterv(c.comm, x, &four, &one, x + 1, 4, kType, 0, nullptr, nullptr), PLAIT_OK)
      << c.last();
}

TEST_F(Misuse, OwnCountsThatDiffer) {
  refused(plait_gatherv(c.comm, x, 3, y, &four, nullptr, kType, 0, nullptr, nullptr), "plait_gatherv",
          "in_count is 3, but 4");
  refused(plait_scatterv(c.comm, x, &four, nullptr, y, 5, kType, 0, nullptr, nullptr), "plait_scatterv",
          "out_count is 5, but 4");
  refused(plait_alltoallv(c.comm, x, &four, nullptr, y, &one, nullptr, kType, nullptr, nullptr),
          "plait_alltoallv", "but 1");
  refused(plait_alltoallv(c.comm, x, &four, &one, x, &four, nullptr, kType, nullptr, nullptr),
          "plait_alltoallv", "in place");
}

TEST_F(Misuse, RootsTypesAndOperators) {
  refused(plait_reduce(c.comm, x, y, 4, kType, PLAIT_SUM, 1, nullptr, nullptr), "plait_reduce", "root 1");
  refused(plait_gatherv(c.comm, x, 4, y, &four, nullptr, kType, -1, nullptr, nullptr), "plait_gatherv",
          "root -1");
  refused(plait_alltoall(c.comm, x, y, 4, 77, nullptr, nullptr), "plait_alltoall", "dtype 77");
  refused(plait_reduce_scatterv(c.comm, x, y, &four, kType, 99, nullptr, nullptr), "plait_reduce_scatterv",
          "op 99");
}

TEST_F(Misuse, NothingMayBeNull) {
  EXPECT_EQ(plait_gather(c.comm, nullptr, nullptr, 0, kType, 0, nullptr, nullptr), PLAIT_OK) << c.last();
  EXPECT_EQ(plait_alltoallv(c.comm, nullptr, &none, &huge, nullptr, &none, nullptr, kType, nullptr, nullptr),
            PLAIT_OK)
      << c.last();
  EXPECT_EQ(plait_allgatherv(c.comm, nullptr, nullptr, &none, nullptr, kType, nullptr, nullptr), PLAIT_OK)
      << c.last();
}

TEST(MisuseOfMany, BlocksOfAnOutputThatOverlap) {
  const std::string job = fresh_job();
  const std::string words = run_threads(0, 3, 3, [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    float x[8] = {}, y[32] = {};
    const size_t counts[] = {4, 0, 4}, clash[] = {5, 6, 2}, apart[] = {5, 6, 1};
    if (plait_allgatherv(c.comm, x, y, counts, clash, PLAIT_FLOAT32, nullptr, nullptr) != PLAIT_ERR_INVALID ||
        !contains(c.last(), "ranks 0 and 2 overlap")) {
      return "overlapping blocks: " + c.last();
    }
    // What is empty overlaps with nothing; blocks come in any order.
    return plait_allgatherv(c.comm, x, y, counts, apart, PLAIT_FLOAT32, nullptr, nullptr) == PLAIT_OK
               ? ""
               : c.last();
  });
  EXPECT_EQ(words, "");
}

// Elsewhere than at the root nobody looks at what is the root's.
TEST(MisuseOfMany, WhatIsTheRootsIsReadThereOnly) {
  const std::string job = fresh_job();
  const std::string words = run_threads(0, 2, 2, [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    float mine[2] = {float(rank), float(rank + 10)}, all[4] = {};
    const size_t counts[] = {2, 2};
    auto* wild = reinterpret_cast<size_t*>(1);
    const bool root = rank == 1;
    void* out = root ? all : reinterpret_cast<float*>(1);
    if (plait_gatherv(c.comm, mine, 2, out, root ? counts : wild, root ? nullptr : wild, PLAIT_FLOAT32, 1,
                      nullptr, nullptr) != PLAIT_OK) {
      return c.last();
    }
    if (root && !(all[0] == 0 && all[1] == 10 && all[2] == 1 && all[3] == 11))
      return "gathered something else";
    if (plait_scatterv(c.comm, out, root ? counts : wild, root ? nullptr : wild, mine, 2, PLAIT_FLOAT32, 1,
                       nullptr, nullptr) != PLAIT_OK) {
      return c.last();
    }
    return mine[0] == float(rank) && mine[1] == float(rank + 10) ? "" : "scattered something else";
  });
  EXPECT_EQ(words, "");
}

}  // namespace
}  // namespace plait::test
