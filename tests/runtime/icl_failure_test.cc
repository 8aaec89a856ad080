// Chips that die and links that stay away in the middle of a collective: each rank ends, and says which.
#include <sys/mman.h>

#include <array>
#include <vector>

#include "runtime/failure.h"
#include "support/pod.h"

namespace plait::test {
namespace {

constexpr int kMostRanks = 8;

// What processes tell each other.
struct Signs {
  std::atomic<int> going{0};  // ranks
  std::array<std::atomic<int64_t>, kMostRanks> ended_ns{};
};

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// What a rank came to.
struct Outcome {
  plait_status status;
  std::string text;
};

// Sums until something goes wrong, or `operations` were done.
Outcome sum_on(plait_comm* comm, Signs& signs, int rank, int size, int operations) {
  std::vector<float> x(20'000);
  for (int k = 0; k < operations; k++) {
    for (size_t i = 0; i < x.size(); i++) x[i] = float((size_t(rank) + i) % 7);
    if (plait_allreduce(comm, x.data(), x.data(), x.size(), PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr) !=
        PLAIT_OK) {
      signs.ended_ns[size_t(rank)] = now_ns();
      return {PLAIT_ERR_PEER, plait_last_error(comm)};
    }
    for (size_t i = 0; i < x.size(); i++) {
      float want = 0;
      for (int r = 0; r < size; r++) want += float((size_t(r) + i) % 7);
      if (x[i] != want) return {PLAIT_ERR_INTERNAL, "a wrong sum"};
    }
    if (k == 0) signs.going++;
  }
  return {PLAIT_OK, ""};
}

using Judge = std::function<std::string(int rank, const Outcome&)>;

class Trial {
 public:
  // `options`: of the pod. `networks`: besides the pod's, with a comma before.
  Trial(const std::string& graph, int ranks, const std::string& options = "silent=60s",
        const std::string& networks = "")
      : pod_(graph + "; mbps=0 latency=0ns memory=64K " + options), size_(ranks) {
    EXPECT_EQ(pod_.error(), "");
    setenv("PLAIT_NETWORK", (pod_.network() + networks).c_str(), 1);
    setenv("PLAIT_TEST_RANKS_PER_HOST", "1", 1);
    signs_ = static_cast<Signs*>(
        mmap(nullptr, sizeof(Signs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    new (signs_) Signs;
  }
  ~Trial() { munmap(signs_, sizeof(Signs)); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // Every rank sums; `orders` come once all do.
  void run(const std::vector<std::string>& orders, int operations, const Judge& judge) {
    run(operations, judge, [&](const std::vector<Process>&) {
      for (const std::string& order : orders) EXPECT_EQ(pod_.fault(order), "");
    });
  }
  // The same, where `hurt` does it, to the ranks' processes.
  void run(int operations, const Judge& judge, const std::function<void(const std::vector<Process>&)>& hurt) {
    const std::string job = fresh_job();
    std::vector<Process> ranks;
    for (int r = 0; r < size_; r++)
      ranks.push_back(fork_ranks(r, 1, size_, [&](int rank, int size) -> std::string {
        Comm c(job, rank, size, 40'000);
        if (c.status != PLAIT_OK) return c.error;
        const std::string words = judge(rank, sum_on(c.comm, *signs_, rank, size, operations));
        if (!words.empty()) return words;
        const bool broken = plait_barrier(c.comm, nullptr, nullptr) != PLAIT_OK;
        return broken == (signs_->ended_ns[size_t(rank)] != 0) ? "" : "a later call forgot";
      }));
    for (int i = 0; i < 30'000 && signs_->going < size_; i++) usleep(1000);
    EXPECT_EQ(signs_->going, size_);
    const int64_t broken_ns = now_ns();
    hurt(ranks);
    std::string words;
    for (Process& p : ranks) words += join(p);
    EXPECT_EQ(words, "");
    int64_t last_ns = broken_ns;
    for (int r = 0; r < size_; r++) last_ns = std::max(last_ns, signs_->ended_ns[size_t(r)].load());
    std::printf("%.3f s until the last rank knew\n", double(last_ns - broken_ns) * 1e-9);
  }
  // Whether all ranks but one learnt that something went wrong, within a limit.
  bool await_others(int but) const {
    for (int i = 0; i < 30'000; i++, usleep(1000)) {
      int ended = 0;
      for (int r = 0; r < size_; r++) ended += r != but && signs_->ended_ns[size_t(r)] != 0;
      if (ended == size_ - 1) return true;
    }
    return false;
  }

 private:
  const EmulatedPod pod_;
  const int size_;
  Signs* signs_;
};

constexpr int kEndless = 1'000'000;

std::string expect_words(const Outcome& o, std::initializer_list<const char*> parts) {
  return expect(o.status, PLAIT_ERR_PEER, o.text, parts);
}

// The chip that died, and the rank whose chip it was: by all, though others than its neighbours lose links,
// too.
TEST(IclFailure, ADeadChipIsNamedWithItsRank) {
  for (const auto& [graph, ranks] : {std::pair("ring 8", 8), {"mesh 2x3", 6}, {"hybrid cube mesh", 8}}) {
    Trial(graph, ranks).run({"chip 5 dead"}, kEndless, [](int, const Outcome& o) {
      return expect_words(o, {"chip 5", "dead", "rank 5"});
    });
  }
}

// Its links stay up, and its chip takes what comes: its rank does nothing. Once it goes on it is told. (Links
// to the chips behind it end with its own.)
TEST(IclFailure, AStoppedProcessIsNamedByItsChip) {
  constexpr int kStopped = 2;
  Trial trial("ring 4", 4, "silent=1s");
  const auto stop = [&](const std::vector<Process>& ranks) {
    EXPECT_EQ(kill(ranks[kStopped].pid, SIGSTOP), 0);
    EXPECT_TRUE(trial.await_others(kStopped)) << "somebody waits for it still";
    EXPECT_EQ(kill(ranks[kStopped].pid, SIGCONT), 0);
  };
  trial.run(
      kEndless,
      [](int rank, const Outcome& o) {
        if (rank == kStopped) return o.status == PLAIT_OK ? std::string("it was not told") : std::string();
        return expect_words(o, {"chip 2", "silent", "rank 2"});
      },
      stop);
}

// Longer than the pod's limit: a link that is down, by the names of its ends.
TEST(IclFailure, ALinkThatStaysAwayIsNamed) {
  Trial("ring 2", 2, "silent=60s limit=50ms").run({"link 0:0 cut 20s"}, kEndless, [](int, const Outcome& o) {
    return expect_words(o, {"the link from chip", "chip 0 port", "chip 1 port", "went down"});
  });
}

// With another network beside it, the links may stay away.
TEST(IclFailure, AnotherNetworkGoesOnWithoutTheLinks) {
  Trial("ring 2", 2, "silent=60s limit=50ms", ",tcp:lo")
      .run({"link 0:0 cut 20s"}, 1500,
           [](int, const Outcome& o) { return o.status == PLAIT_OK ? std::string() : o.text; });
}

}  // namespace
}  // namespace plait::test
