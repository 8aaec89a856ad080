// When ranks fail, do not come: the right status, on every rank, with a text that names whom and
// what.
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "runtime/failure.h"

namespace plait::test {
namespace {

// Calls until something goes wrong, and says what did.
plait_status allreduce_until_error(plait_comm* comm, void* data, size_t count, int most) {
  plait_status status = PLAIT_OK;
  for (int i = 0; i < most && status == PLAIT_OK; i++) {
    status = plait_allreduce(comm, data, data, count, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr);
  }
  return status;
}

// Counts across processes.
class Counter {
 public:
  Counter()
      : at_(static_cast<std::atomic<int>*>(
            mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~Counter() { munmap(at_, 4096); }
  void add() { at_->fetch_add(1); }
  void await(int n) const {
    for (int i = 0; i < 30'000 && at_->load() < n; i++) usleep(1000);
  }

 private:
  std::atomic<int>* at_;
};

void kill_one(int n, int victim, size_t bytes, bool plain) {
  const std::string job = fresh_job();
  std::vector<Process> ranks;
  Counter going;
  auto body = [=, &going](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    Shared shared(bytes);
    std::unique_ptr<char[]> own(plain ? new char[bytes]() : nullptr);
    void* data = plain ? own.get() : shared.data;
    if (allreduce_until_error(c.comm, data, bytes / 4, 1) != PLAIT_OK) return c.last();
    going.add();
    const plait_status status = allreduce_until_error(c.comm, data, bytes / 4, 1'000'000);
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    std::string bad =
        expect(status, PLAIT_ERR_PEER, c.last(), {("rank " + std::to_string(victim)).c_str(), "allreduce"});
    if (!bad.empty()) return bad;
    // It stays so, and can be taken down.
    if (plait_barrier(c.comm, nullptr, nullptr) != PLAIT_ERR_PEER) return "a later call forgot";
    plait_comm* comm = c.comm;
    c.comm = nullptr;
    (void)plait_comm_destroy(comm);
    return {};
  };
  for (int r = 0; r < n; r++) ranks.push_back(fork_ranks(r, 1, n, body));
  going.await(n);
  usleep(300'000);  // in the middle of it
  kill(ranks[size_t(victim)].pid, SIGKILL);
  timespec killed;
  clock_gettime(CLOCK_MONOTONIC, &killed);
  std::string words;
  for (int r = 0; r < n; r++) {
    const std::string w = join(ranks[size_t(r)], r == victim);
    if (r != victim) words += w;
  }
  timespec ended;
  clock_gettime(CLOCK_MONOTONIC, &ended);
  EXPECT_EQ(words, "");
  testing::Test::RecordProperty(
      "seconds_until_all_ended",
      std::to_string(double(ended.tv_sec - killed.tv_sec) + 1e-9 * double(ended.tv_nsec - killed.tv_nsec)));
}

TEST(Killed, InTheMiddleOfA64MiBAllreduceIsNamedByAll) { kill_one(4, 2, size_t(64) << 20, false); }
TEST(Killed, Rank0OfTwo) { kill_one(2, 0, size_t(64) << 20, false); }
TEST(Killed, WithPlainMemory) { kill_one(3, 1, size_t(16) << 20, true); }
TEST(Killed, DuringTinyOperations) { kill_one(3, 2, 8, false); }

// A communicator that the dead rank was not in goes on, before and after the other was destroyed.
TEST(Killed, CommunicatorsWithoutTheDeadRankGoOn) {
  const std::string all = fresh_job(), two = fresh_job();
  Counter going;
  std::vector<Process> ranks;
  auto body = [&](int rank, int size) -> std::string {
    Comm a(all, rank, size);
    if (a.status != PLAIT_OK) return a.error;
    float x[4] = {};
    if (allreduce_until_error(a.comm, x, 4, 1) != PLAIT_OK) return a.last();
    if (rank == 2) {
      going.add();
      pause();
    }
    Comm b(two, rank, 2);
    if (b.status != PLAIT_OK) return b.error;
    if (allreduce_until_error(b.comm, x, 4, 1) != PLAIT_OK) return "before: " + b.last();
    going.add();
    const plait_status died = allreduce_until_error(a.comm, x, 4, 2);
    std::string bad = expect(died, PLAIT_ERR_PEER, a.last(), {"rank 2"});
    if (!bad.empty()) return bad;
    if (allreduce_until_error(b.comm, x, 4, 100) != PLAIT_OK) return "after: " + b.last();
    plait_comm* broken = a.comm;
    a.comm = nullptr;
    (void)plait_comm_destroy(broken);
    return allreduce_until_error(b.comm, x, 4, 100) == PLAIT_OK ? "" : "after destroying: " + b.last();
  };
  for (int r = 0; r < 3; r++) ranks.push_back(fork_ranks(r, 1, 3, body));
  going.await(3);
  kill(ranks[2].pid, SIGKILL);
  std::string words;
  for (int r = 0; r < 3; r++) {
    const std::string w = join(ranks[size_t(r)], r == 2);
    if (r != 2) words += w;
  }
  EXPECT_EQ(words, "");
}

// One rank calls something else; everybody hears who called what.

TEST(Timeout, NamesTheRankThatDidNotCall) {
  const std::string job = fresh_job();
  run_ranks(processes(3), [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    float x[4] = {};
    if (plait_barrier(c.comm, nullptr, nullptr) != PLAIT_OK) return "barrier: " + c.last();
    plait_call_config config{};
    config.struct_size = sizeof config;
    config.timeout_ms = 1'000;
    if (rank == 2) {
      usleep(2'500'000);
      // All that it needs has landed, so its own call may end well; the communicator is broken all the same.
      (void)plait_allreduce(c.comm, x, x, 4, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr);
      return plait_barrier(c.comm, nullptr, nullptr) == PLAIT_OK ? "the late rank noticed nothing" : "";
    }
    const plait_status status = plait_allreduce(c.comm, x, x, 4, PLAIT_FLOAT32, PLAIT_SUM, &config, nullptr);
    return expect(status, PLAIT_ERR_TIMEOUT, c.last(), {rank == 0 ? "rank" : "allreduce"});
  });
}

// Rank 1 waits for rank 0, which waits for rank 2. Rank 0 gives up first, and rank 1 tells whose fault it is.
TEST(Timeout, IsPassedOnWithTheNameOfTheRankToBlame) {
  const std::string job = fresh_job();
  Counter told;
  run_ranks(processes(3), [&](int rank, int size) -> std::string {
    Comm c(job, rank, size, rank == 0 ? 1'000 : 60'000);
    if (c.status != PLAIT_OK) return told.add(), c.error;
    if (rank == 2) {
      told.await(2);
      return {};
    }
    plait_call_config by{};
    by.struct_size = sizeof by;
    by.algorithm = "pipeline";
    std::vector<float> x(5000);
    const plait_status status =
        plait_broadcast(c.comm, x.data(), x.data(), x.size(), PLAIT_FLOAT32, 2, &by, nullptr);
    told.add();
    return expect(status, PLAIT_ERR_TIMEOUT, c.last(), {"rank 2"});
  });
}

TEST(Abort, FromAnotherThreadEndsTheOperationEverywhere) {
  const std::string job = fresh_job();
  run_ranks(processes(3), [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    float x[4] = {};
    std::thread aborter;
    if (rank == 0) aborter = std::thread([&] { usleep(300'000), plait_comm_abort(c.comm); });
    plait_status status = PLAIT_OK;
    if (rank == 2) {  // comes late
      usleep(900'000);
    }
    status = plait_allreduce(c.comm, x, x, 4, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr);
    if (aborter.joinable()) aborter.join();
    // The late rank finds all it needs: its call ends well, its next one does not.
    if (rank == 2 && status == PLAIT_OK) status = plait_barrier(c.comm, nullptr, nullptr);
    std::string bad = expect(status, PLAIT_ERR_ABORTED, c.last(), {"abort"});
    if (bad.empty() && plait_barrier(c.comm, nullptr, nullptr) != PLAIT_ERR_ABORTED)
      bad = "a later call forgot";
    return bad;
  });
}

// Rank 1 has told where its vector lies and does something else. Rank 0 gives up: from then on its memory is
// its own, though rank 1 comes back and finds all that it needs to go on.
TEST(GivenUp, MemoryOfARankThatLeftIsNotTouched) {
  const std::string job = fresh_job();
  constexpr size_t kCount = size_t(1) << 18;
  std::atomic<bool> started{false}, left{false}, done{false};
  const RankMain main = [&](int rank, int size) -> std::string {
    void* block = nullptr;
    if (plait_init(nullptr) != PLAIT_OK || plait_mem_alloc(kCount * sizeof(float), &block) != PLAIT_OK)
      return "no memory";
    auto* x = static_cast<float*>(block);
    std::fill_n(x, kCount, 1.0f);
    std::string bad;
    if (rank == 0) {
      {
        Comm c(job, rank, size, 300);
        if (c.status != PLAIT_OK) return left = true, c.error;
        while (!started) usleep(1000);
        const plait_status status =
            plait_allreduce(c.comm, x, x, kCount, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr);
        bad = expect(status, PLAIT_ERR_TIMEOUT, c.last(), {"rank 1"});
      }
      std::fill_n(x, kCount, 5.0f);
      left = true;
      while (!done) usleep(1000);
      if (std::count(x, x + kCount, 5.0f) != ptrdiff_t(kCount))
        bad += "a peer wrote into memory that it had lost";
    } else {
      Comm c(job, rank, size);
      if (c.status != PLAIT_OK) return started = done = true, c.error;
      plait_request* request = nullptr;
      if (plait_allreduce(c.comm, x, x, kCount, PLAIT_FLOAT32, PLAIT_SUM, nullptr, &request) != PLAIT_OK)
        bad = "start: " + c.last();
      started = true;
      while (!left) usleep(1000);
      const plait_status status = plait_wait(request);
      if (bad.empty()) bad = expect(status, PLAIT_ERR_TIMEOUT, c.last(), {"rank 0"});
      done = true;
    }
    plait_mem_free(block);
    plait_finalize();
    return bad;
  };
  EXPECT_EQ(run_threads(0, 2, 2, main), "");
}

TEST(Left, ARankThatDestroyedItsCommunicatorIsMissedByName) {
  const std::string job = fresh_job();
  run_ranks(processes(2), [&](int rank, int size) -> std::string {
    Comm c(job, rank, size, 20'000);
    if (c.status != PLAIT_OK) return c.error;
    float x[4] = {};
    if (rank == 1) return {};  // destroys at once
    const plait_status status = plait_allreduce(c.comm, x, x, 4, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr);
    return expect(status, PLAIT_ERR_PEER, c.last(), {"rank 1"});
  });
}

TEST(Exit, WithoutDestroyingIsNamed) {
  const std::string job = fresh_job();
  run_ranks(processes(2), [&](int rank, int size) -> std::string {
    auto* c = new Comm(job, rank, size, 20'000);
    if (c->status != PLAIT_OK) return c->error;
    if (rank == 1) _exit(0);
    float x[4] = {};
    const plait_status status = plait_allreduce(c->comm, x, x, 4, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr);
    return expect(status, PLAIT_ERR_PEER, c->last(), {"rank 1"});
  });
}

plait_status create(const std::string& job, int rank, int size, int64_t ms, std::string* text) {
  plait_init(nullptr);
  plait_comm_config config{};
  config.struct_size = sizeof config;
  config.rank = rank;
  config.size = size;
  config.job = job.c_str();
  const std::string host = host_of(rank);
  config.host_id = host.empty() ? nullptr : host.c_str();
  config.bootstrap_timeout_ms = ms;
  plait_comm* comm = nullptr;
  const plait_status status = plait_comm_create(&config, &comm);
  *text = plait_last_error(nullptr);
  if (comm != nullptr) plait_comm_destroy(comm);
  plait_finalize();
  return status;
}

TEST(Bootstrap, NamesTheRanksThatDoNotCome) {
  const std::string job = fresh_job();
  std::vector<Process> p;
  for (int r : {0, 1}) {
    p.push_back(fork_ranks(r, 1, 4, [&](int rank, int size) -> std::string {
      std::string text;
      const plait_status status = create(job, rank, size, 1'500, &text);
      return expect(status, PLAIT_ERR_TIMEOUT, text, {"ranks 2, 3"});
    }));
  }
  for (auto& q : p) EXPECT_EQ(join(q), "");
}

TEST(Bootstrap, RefusesARankThatComesTwiceAndSizesThatDiffer) {
  for (bool twice : {true, false}) {
    const std::string job = fresh_job();
    run_ranks(processes(3), [&](int rank, int) -> std::string {
      std::string text;
      const int as = twice && rank == 2 ? 1 : rank, size = !twice && rank == 2 ? 4 : 3;
      const plait_status status = create(job, as, size, 1'500, &text);
      return expect(status, PLAIT_ERR_MISMATCH, text,
                    {twice ? "rank 1 came twice" : "says the job has 4 ranks"});
    });
  }
}

}  // namespace
}  // namespace plait::test
