// Ranks as threads of one process, so that ThreadSanitizer sees all of them.
#include <numeric>

#include "runtime/split_rig.h"

namespace plait::test {
namespace {

std::string sum_many(plait_comm* comm, int rank, int size, bool shared, int rounds) {
  constexpr size_t kMost = 30'000;
  void* block = nullptr;
  std::vector<float> own(2 * kMost);
  if (shared && plait_mem_alloc(2 * kMost * sizeof(float), &block) != PLAIT_OK) return "no memory";
  float* in = shared ? static_cast<float*>(block) : own.data();
  float* out = in + kMost;
  std::string bad;
  for (int k = 0; k < rounds && bad.empty(); k++) {
    const size_t count = std::vector<size_t>{1, 14, 200, 3000, kMost}[size_t(k) % 5];
    for (size_t i = 0; i < count; i++) in[i] = float((i % 50) * size_t(rank + 1));
    float* to = k % 2 == 0 ? out : in;
    if (plait_allreduce(comm, in, to, count, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr) != PLAIT_OK)
      bad = plait_last_error(comm);
    const size_t weight = size_t(size) * size_t(size + 1) / 2;
    for (size_t i = 0; i < count && bad.empty(); i++) {
      if (to[i] != float((i % 50) * weight))
        bad = "element " + std::to_string(i) + " of " + std::to_string(count) + " is wrong";
    }
  }
  if (shared) plait_mem_free(block);
  return bad;
}

TEST(Threads, SumGradientsInMemoryOfBothKinds) {
  for (int size : {2, 3, 5}) {
    const std::string job = fresh_job();
    EXPECT_EQ(run_threads(0, size, size,
                          [&](int rank, int n) -> std::string {
                            Comm c(job, rank, n);
                            return c.status != PLAIT_OK ? c.error
                                                        : sum_many(c.comm, rank, n, rank % 2 == 0, 40);
                          }),
              "");
  }
}

TEST(Threads, DriveCommunicatorsOfTheirOwn) {
  const std::string job = fresh_job();
  EXPECT_EQ(run_threads(0, 2, 2,
                        [&](int rank, int n) -> std::string {
                          Comm a(job, rank, n), b(job, rank, n);
                          if (a.status != PLAIT_OK || b.status != PLAIT_OK) return a.error + b.error;
                          std::string words;
                          std::thread other([&] { words = sum_many(b.comm, rank, n, true, 30); });
                          std::string mine = sum_many(a.comm, rank, n, false, 30);
                          other.join();
                          return mine + words;
                        }),
            "");
}

// Children of several colors at once, used while their parent is, and gone before the next are made: their
// memory is used again at once.
TEST(Threads, SplitAndSum) {
  for (int size : {2, 4, 5}) {
    const std::string job = fresh_job();
    EXPECT_EQ(run_threads(0, size, size,
                          [&](int rank, int n) -> std::string {
                            Comm c(job, rank, n);
                            if (c.status != PLAIT_OK) return c.error;
                            std::vector<Asked> asked(static_cast<size_t>(n));
                            std::string bad;
                            for (int k = 0; k < 6 && bad.empty(); k++) {
                              for (int r = 0; r < n; r++)
                                asked[size_t(r)] = {(r + k / 2) % 2, k % 2 == 0 ? -r : r};
                              const Asked mine = asked[size_t(rank)];
                              plait_comm* child = nullptr;
                              if (plait_comm_split(c.comm, mine.color, mine.key, nullptr, &child) != PLAIT_OK)
                                return c.last();
                              bad = check_child(child, members(asked, rank), rank, 2000);
                              if (bad.empty()) bad = sum_many(c.comm, rank, n, k % 2 == 0, 5);
                              if (plait_comm_destroy(child) != PLAIT_OK) bad += plait_last_error(nullptr);
                            }
                            return bad;
                          }),
              "");
  }
}

// A child and its parent, driven by two threads of each rank.
TEST(Threads, DriveAChildBesideItsParent) {
  const std::string job = fresh_job();
  EXPECT_EQ(run_threads(0, 3, 3,
                        [&](int rank, int n) -> std::string {
                          Comm c(job, rank, n);
                          plait_comm* child = nullptr;
                          if (c.status != PLAIT_OK || plait_comm_dup(c.comm, nullptr, &child) != PLAIT_OK)
                            return c.error + c.last();
                          std::string words;
                          std::thread other([&] { words = sum_many(child, rank, n, true, 20); });
                          std::string mine = sum_many(c.comm, rank, n, false, 20);
                          plait_comm* more = nullptr;
                          if (plait_comm_dup(c.comm, nullptr, &more) != PLAIT_OK) mine += c.last();
                          other.join();
                          plait_comm_destroy(more);
                          plait_comm_destroy(child);
                          return mine + words;
                        }),
            "");
}

TEST(Threads, AbortAndLastErrorComeFromAnyThread) {
  const std::string job = fresh_job();
  EXPECT_EQ(
      run_threads(0, 2, 2,
                  [&](int rank, int n) -> std::string {
                    Comm c(job, rank, n);
                    if (c.status != PLAIT_OK) return c.error;
                    std::thread aborter;
                    if (rank == 0) {
                      aborter = std::thread([&] {
                        usleep(50'000);
                        plait_comm_abort(c.comm);
                        (void)plait_last_error(c.comm);
                      });
                    }
                    float x = 1;
                    plait_status status = PLAIT_OK;
                    for (int k = 0; k < 10'000'000 && status == PLAIT_OK; k++) {
                      status = plait_allreduce(c.comm, &x, &x, 1, PLAIT_FLOAT32, PLAIT_MAX, nullptr, nullptr);
                    }
                    if (aborter.joinable()) aborter.join();
                    return status == PLAIT_ERR_ABORTED ? ""
                                                       : std::string("status ") + plait_status_string(status);
                  }),
      "");
}

}  // namespace
}  // namespace plait::test
