// Ranks that call different things: an error on every rank, which says who called what.
#include "support/ranks.h"

namespace plait::test {
namespace {

constexpr int kRanks = 3;

struct Buffers {
  std::vector<float> in = std::vector<float>(4096), out = std::vector<float>(4096);
};
using Call = std::function<plait_status(plait_comm*, int rank, Buffers&)>;

// Every rank fails, if not in `call` then in what it calls next, and says each of `words`: what the odd one
// called, and what the others did. Who of them it knows of depends on whom it is connected with.
void disagree(const Call& call, const std::vector<std::string>& words) {
  for (const std::vector<int>& shape : {processes(kRanks), std::vector<int>{kRanks}}) {
    const std::string job = fresh_job();
    run_ranks(shape, [&](int rank, int size) -> std::string {
      Comm c(job, rank, size, 20'000);
      if (c.status != PLAIT_OK) return c.error;
      Buffers b;
      // Connects them. Whoever is still in it when others have failed in the call may fail in it for that
      // reason.
      plait_status status = plait_barrier(c.comm, nullptr, nullptr);
      if (status == PLAIT_OK) status = call(c.comm, rank, b);
      if (status == PLAIT_OK) status = plait_barrier(c.comm, nullptr, nullptr);
      const std::string text = c.last();
      if (status != PLAIT_ERR_MISMATCH) return "status " + std::to_string(status) + ": " + text;
      for (const std::string& word : words) {
        if (!contains(text, word)) return "no \"" + word + "\" in: " + text;
      }
      return {};
    });
  }
}

TEST(Disagree, CountsThatAllRanksKnow) {
  auto counts = [](int rank) {
    return rank == 1 ? std::vector<size_t>{3, 5, 4} : std::vector<size_t>{3, 4, 5};
  };
  disagree(
      [&](plait_comm* comm, int rank, Buffers& b) {
        return plait_allgatherv(comm, b.in.data(), b.out.data(), counts(rank).data(), nullptr, PLAIT_FLOAT32,
                                nullptr, nullptr);
      },
      {"operation 2", "rank 1 called allgatherv(3 counts #", "12 elements", " called allgatherv(3 counts #"});
  disagree(
      [&](plait_comm* comm, int rank, Buffers& b) {
        return plait_reduce_scatterv(comm, b.in.data(), b.out.data(), counts(rank).data(), PLAIT_FLOAT32,
                                     PLAIT_SUM, nullptr, nullptr);
      },
      {"rank 1 called reduce_scatterv(3 counts #", " called reduce_scatterv(3 counts #"});
}

TEST(Disagree, EvenAndUnevenCalls) {
  disagree(
      [](plait_comm* comm, int rank, Buffers& b) {
        const size_t counts[] = {4, 4, 4};
        return rank == 2
                   ? plait_allgather(comm, b.in.data(), b.out.data(), 4, PLAIT_FLOAT32, nullptr, nullptr)
                   : plait_allgatherv(comm, b.in.data(), b.out.data(), counts, nullptr, PLAIT_FLOAT32,
                                      nullptr, nullptr);
      },
      {"rank 2 called allgather(count=4", " called allgatherv(3 counts #"});
}

TEST(Disagree, Roots) {
  disagree(
      [](plait_comm* comm, int rank, Buffers& b) {
        return plait_gather(comm, b.in.data(), b.out.data(), 9, PLAIT_FLOAT32, rank == 2 ? 1 : 0, nullptr,
                            nullptr);
      },
      {"rank 2 called gather(count=9, float32, root=1)", " called gather(count=9, float32, root=0)"});
  disagree(
      [](plait_comm* comm, int rank, Buffers& b) {
        return plait_reduce(comm, b.in.data(), b.out.data(), 9, PLAIT_FLOAT32, PLAIT_SUM, rank == 2 ? 1 : 0,
                            nullptr, nullptr);
      },
      {"rank 2 called reduce(count=9, float32, sum, root=1)"});
}

TEST(Disagree, CollectivesOperatorsAndCounts) {
  disagree(
      [](plait_comm* comm, int rank, Buffers& b) {
        return rank == 0
                   ? plait_scatter(comm, b.in.data(), b.out.data(), 9, PLAIT_FLOAT32, 0, nullptr, nullptr)
                   : plait_gather(comm, b.in.data(), b.out.data(), 9, PLAIT_FLOAT32, 0, nullptr, nullptr);
      },
      {"rank 0 called scatter(", " called gather("});
  disagree(
      [](plait_comm* comm, int rank, Buffers& b) {
        return plait_alltoall(comm, b.in.data(), b.out.data(), rank == 1 ? 8 : 9, PLAIT_FLOAT32, nullptr,
                              nullptr);
      },
      {"rank 1 called alltoall(count=8", " called alltoall(count=9"});
  disagree(
      [](plait_comm* comm, int rank, Buffers& b) {
        return plait_reduce(comm, b.in.data(), b.out.data(), 9, PLAIT_FLOAT32,
                            rank == 1 ? PLAIT_MAX : PLAIT_SUM, 2, nullptr, nullptr);
      },
      {"rank 1 called reduce(count=9, float32, max", " called reduce(count=9, float32, sum"});
}

// Counts that only two ranks know: who of them sees the difference tells both.
class OfTwoRanks : public testing::TestWithParam<size_t> {};

TEST_P(OfTwoRanks, Gatherv) {
  const size_t count = GetParam();
  disagree(
      [&](plait_comm* comm, int rank, Buffers& b) {
        const size_t counts[] = {count, count, count};
        return plait_gatherv(comm, b.in.data(), rank == 1 ? count - 1 : count, b.out.data(), counts, nullptr,
                             PLAIT_FLOAT32, 0, nullptr, nullptr);
      },
      {"rank 1 sends " + std::to_string(4 * count - 4) + " bytes",
       "rank 0 expects " + std::to_string(4 * count)});
}

TEST_P(OfTwoRanks, Scatterv) {
  const size_t count = GetParam();
  disagree(
      [&](plait_comm* comm, int rank, Buffers& b) {
        const size_t counts[] = {count, count, count};
        return plait_scatterv(comm, b.in.data(), counts, nullptr, b.out.data(), rank == 2 ? count + 1 : count,
                              PLAIT_FLOAT32, 0, nullptr, nullptr);
      },
      {"rank 0 sends " + std::to_string(4 * count) + " bytes",
       "rank 2 expects " + std::to_string(4 * count + 4)});
}

TEST_P(OfTwoRanks, Alltoallv) {
  const size_t count = GetParam();
  disagree(
      [&](plait_comm* comm, int rank, Buffers& b) {
        size_t ins[] = {count, count, count}, outs[] = {count, count, count};
        if (rank == 1) ins[2]--;
        return plait_alltoallv(comm, b.in.data(), ins, nullptr, b.out.data(), outs, nullptr, PLAIT_FLOAT32,
                               nullptr, nullptr);
      },
      {"rank 1 sends " + std::to_string(4 * count - 4) + " bytes",
       "rank 2 expects " + std::to_string(4 * count)});
}

// In lines, announced or in parts.
INSTANTIATE_TEST_SUITE_P(Counts, OfTwoRanks, testing::Values(size_t(1), size_t(1000)));

}  // namespace
}  // namespace plait::test
