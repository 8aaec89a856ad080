// plait_comm_split and plait_comm_dup: who comes together, in which order, and that children are
// communicators of their own.
#include <dirent.h>

#include <cstdlib>
#include <numeric>

#include "runtime/split_rig.h"

namespace plait::test {
namespace {

uint64_t fresh_seed() {
  const char* given = std::getenv("PLAIT_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

std::vector<int> iota(int n) {
  std::vector<int> ranks(static_cast<size_t>(n));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

int open_descriptors() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (folder != nullptr && readdir(folder) != nullptr) count++;
  if (folder != nullptr) closedir(folder);
  return count;
}

// An allreduce of the parent that is started and not waited for.
struct Pending {
  plait_request* request = nullptr;
  int32_t value;
  explicit Pending(plait_comm* comm, int rank) : value(rank + 1) {
    plait_allreduce(comm, &value, &value, 1, PLAIT_INT32, PLAIT_SUM, nullptr, &request);
  }
  std::string finish(int n) {
    if (request == nullptr) return "not started";
    const plait_status status = plait_wait(request);
    plait_request_free(request);
    return status == PLAIT_OK && value == n * (n + 1) / 2 ? ""
                                                          : "a pending operation of the parent went wrong";
  }
};

// Splits `comm` at random, `depth` times; checks the child, before and after operations of the parent.
// `names`: what the ranks of `comm` are called.
std::string split_at_random(plait_comm* comm, const std::vector<int>& names, int me, std::mt19937_64 random,
                            int depth) {
  const int n = int(names.size());
  const int rank = int(std::find(names.begin(), names.end(), me) - names.begin());
  const auto asked = draw(random, n);
  const size_t counts[] = {1, 60, 3000, 40'000};
  const size_t count = counts[random() % 4];
  const bool pending = random() % 2 == 0, child_first = random() % 2 == 0;
  auto before = pending ? std::make_unique<Pending>(comm, rank) : nullptr;
  plait_comm* child = comm;  // must be set to NULL where there is none
  if (plait_comm_split(comm, asked[size_t(rank)].color, asked[size_t(rank)].key, nullptr, &child) != PLAIT_OK)
    return std::string("split: ") + plait_last_error(comm);
  const std::vector<int> within = members(asked, rank);
  if (within.empty() != (child == nullptr)) return "a child where there should be none, or none";
  std::string bad;
  if (before) bad = before->finish(n);
  Pending after(comm, rank);  // runs while the child is used
  std::vector<int> ranks;
  for (int r : within) ranks.push_back(names[size_t(r)]);
  if (bad.empty() && child != nullptr) bad = check_child(child, ranks, me, count);
  if (bad.empty()) bad = after.finish(n);
  if (bad.empty() && child != nullptr && depth > 1 && child_first)
    bad = split_at_random(child, ranks, me, random, depth - 1);
  if (bad.empty()) bad = check_child(comm, names, me, 100);
  if (bad.empty() && child != nullptr) bad = check_child(child, ranks, me, count);
  if (child != nullptr && plait_comm_destroy(child) != PLAIT_OK && bad.empty())
    bad = std::string("destroy: ") + plait_last_error(nullptr);
  return bad.empty() ? "" : bad + " (depth " + std::to_string(depth) + ")";
}

// `shape`: see run_ranks.
void random_splits(const std::vector<int>& shape, uint64_t seed) {
  SCOPED_TRACE("PLAIT_TEST_SEED=" + std::to_string(seed));
  const std::string job = fresh_job();
  run_ranks(shape, [&](int rank, int n) -> std::string {
    Comm c(job, rank, n);
    if (c.status != PLAIT_OK) return c.error;
    std::string bad;
    for (uint64_t i = 0; i < 4 && bad.empty(); i++)
      bad = split_at_random(c.comm, iota(n), rank, std::mt19937_64(seed + i), 3);
    return bad;
  });
}

class Ranks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Ranks, testing::Values(1, 2, 3, 4, 5, 6, 7, 8));

TEST_P(Ranks, OfEachColorComeTogetherByKey) { random_splits(processes(GetParam()), fresh_seed()); }

TEST(Split, RanksThatAreThreads) {
  random_splits({4}, fresh_seed());
  random_splits({3, 1, 2}, fresh_seed());
}

// Everything that is made is used after others of it were destroyed, the first parent first.
TEST(Split, ChildrenOutliveTheirParents) {
  const std::string job = fresh_job();
  run_ranks(processes(4), [&](int rank, int n) -> std::string {
    Comm c(job, rank, n);
    if (c.status != PLAIT_OK) return c.error;
    plait_comm *half = nullptr, *copy = nullptr, *alone = nullptr;
    if (plait_comm_split(c.comm, rank % 2, -rank, nullptr, &half) != PLAIT_OK) return c.last();
    const plait_status parents = plait_comm_destroy(c.comm);
    c.comm = nullptr;
    if (parents != PLAIT_OK) return "destroying the parent";
    const std::vector<int> ranks = {rank % 2 + 2, rank % 2};
    std::string bad = check_child(half, ranks, rank, 5000);
    if (plait_comm_dup(half, nullptr, &copy) != PLAIT_OK) return plait_last_error(half);
    if (plait_comm_split(copy, rank, 0, nullptr, &alone) != PLAIT_OK) return plait_last_error(copy);
    if (plait_comm_destroy(half) != PLAIT_OK) return "destroying a child";
    if (bad.empty()) bad = check_child(copy, ranks, rank, 5000);
    if (plait_comm_destroy(copy) != PLAIT_OK) return "destroying a grandchild";
    if (bad.empty()) bad = check_child(alone, {rank}, rank, 5000);
    if (plait_comm_destroy(alone) != PLAIT_OK) return "destroying what has one rank";
    return bad;
  });
}

// A child that times out or is aborted breaks neither its parent nor its brother.
TEST(Split, FailuresStayWithin) {
  const std::string job = fresh_job();
  run_ranks(processes(3), [&](int rank, int n) -> std::string {
    Comm c(job, rank, n);
    if (c.status != PLAIT_OK) return c.error;
    plait_comm_config config{};
    config.struct_size = sizeof config;
    config.timeout_ms = 500;
    plait_comm *hasty = nullptr, *aborted = nullptr, *well = nullptr;
    if (plait_comm_dup(c.comm, &config, &hasty) != PLAIT_OK) return c.last();
    if (plait_comm_dup(c.comm, nullptr, &aborted) != PLAIT_OK) return c.last();
    if (plait_comm_split(c.comm, 0, 0, nullptr, &well) != PLAIT_OK) return c.last();
    std::string bad;
    // Of a rank that never calls it: 500 ms, not the parent's minute.
    if (rank != 2 && plait_barrier(hasty, nullptr, nullptr) != PLAIT_ERR_TIMEOUT)
      bad = plait_last_error(hasty);
    if (rank == 1) plait_comm_abort(aborted);
    if (bad.empty() && plait_barrier(aborted, nullptr, nullptr) != PLAIT_ERR_ABORTED)
      bad = plait_last_error(aborted);
    if (bad.empty()) bad = check_child(well, {0, 1, 2}, rank, 1000);
    if (bad.empty()) bad = check_child(c.comm, {0, 1, 2}, rank, 1000);
    for (plait_comm* child : {hasty, aborted, well}) plait_comm_destroy(child);
    if (bad.empty()) bad = check_child(c.comm, {0, 1, 2}, rank, 1000);
    return bad;
  });
}

TEST(Split, LeavesNoDescriptors) {
  const std::string job = fresh_job();
  run_ranks(processes(4), [&](int rank, int n) -> std::string {
    Comm c(job, rank, n);
    if (c.status != PLAIT_OK) return c.error;
    int before = 0;
    for (int i = 0; i < 12; i++) {
      plait_comm* child = nullptr;
      if (plait_comm_split(c.comm, rank % 2, 0, nullptr, &child) != PLAIT_OK) return c.last();
      std::string bad = check_child(child, {rank % 2, rank % 2 + 2}, rank, 1000);
      if (bad.empty()) bad = check_child(c.comm, iota(n), rank, 1000);
      if (!bad.empty()) return bad;
      plait_comm_destroy(child);
      if (i == 0) before = open_descriptors();
    }
    const int after = open_descriptors();
    // Connections of the parent that were let go linger for a moment; one left each time would be eleven.
    return after <= before + 5 ? "" : std::to_string(before) + " descriptors became " + std::to_string(after);
  });
}

TEST(Split, ArgumentsAreChecked) {
  Comm c(fresh_job(), 0, 1);
  ASSERT_EQ(c.status, PLAIT_OK) << c.error;
  plait_comm* child = nullptr;
  EXPECT_EQ(plait_comm_split(nullptr, 0, 0, nullptr, &child), PLAIT_ERR_INVALID);
  EXPECT_EQ(plait_comm_split(c.comm, 0, 0, nullptr, nullptr), PLAIT_ERR_INVALID);
  EXPECT_EQ(plait_comm_split(c.comm, -7, 0, nullptr, &child), PLAIT_ERR_INVALID);
  EXPECT_TRUE(contains(plait_last_error(nullptr), "color -7")) << plait_last_error(nullptr);
  EXPECT_EQ(plait_comm_dup(nullptr, nullptr, &child), PLAIT_ERR_INVALID);
  plait_comm_config config{};
  EXPECT_EQ(plait_comm_dup(c.comm, &config, &child), PLAIT_ERR_INVALID);
  config.struct_size = sizeof config;
  config.timeout_ms = -1;
  EXPECT_EQ(plait_comm_dup(c.comm, &config, &child), PLAIT_ERR_INVALID);
  config.timeout_ms = 1000;
  config.size = 1;
  EXPECT_EQ(plait_comm_dup(c.comm, &config, &child), PLAIT_ERR_INVALID);
  EXPECT_TRUE(contains(c.last(), "every other field must be 0")) << c.last();
  config.size = 0;
  config.parent = c.comm;
  EXPECT_EQ(plait_comm_dup(c.comm, &config, &child), PLAIT_ERR_INVALID);
  EXPECT_EQ(child, nullptr);
  config.parent = nullptr;
  EXPECT_EQ(plait_comm_dup(c.comm, &config, &child), PLAIT_OK) << c.last();
  EXPECT_EQ(check_child(child, {0}, 0, 100), "");
  EXPECT_EQ(plait_comm_destroy(child), PLAIT_OK);
}

// 64 ranks: no rank dials all others, nobody waits for a timer.
TEST(Split, ManyRanks) {
  const std::string job = fresh_job();
  run_ranks(std::vector<int>(8, 8), [&](int rank, int n) -> std::string {
    Comm c(job, rank, n);
    if (c.status != PLAIT_OK) return c.error;
    if (plait_barrier(c.comm, nullptr, nullptr) != PLAIT_OK) return c.last();
    timespec from{}, to{};
    clock_gettime(CLOCK_MONOTONIC, &from);
    plait_comm* copy = nullptr;
    if (plait_comm_dup(c.comm, nullptr, &copy) != PLAIT_OK) return c.last();
    clock_gettime(CLOCK_MONOTONIC, &to);
    if (rank == 0) {
      std::printf("dup of %d ranks: %.3f s\n", n,
                  double(to.tv_sec - from.tv_sec) + 1e-9 * double(to.tv_nsec - from.tv_nsec));
      std::fflush(stdout);
    }
    const std::string bad = check_child(copy, iota(n), rank, 10);
    return plait_comm_destroy(copy) == PLAIT_OK ? bad : bad + "destroy";
  });
}

}  // namespace
}  // namespace plait::test
