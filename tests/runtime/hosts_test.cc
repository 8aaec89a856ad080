// Ranks on several hosts: ranks are connected only where a plan needs it, level by level, and many of them
// can meet.
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <cstring>

#include "runtime/hosts.h"

namespace plait::test {
namespace {

TEST(Layouts, OfRanksOnHosts) {
  for (const std::vector<int>& layout :
       {std::vector<int>{1, 1}, {2, 2}, {3, 2, 1}, {1, 4}, {1, 1, 1, 1, 1}}) {
    std::vector<std::string> hosts;
    for (size_t h = 0; h < layout.size(); h++)
      hosts.insert(hosts.end(), size_t(layout[h]), "host-" + std::to_string(h));
    const std::string job = fresh_job();
    run_ranks(processes(int(hosts.size())), [&](int rank, int size) -> std::string {
      Handle h(config_of(rank, size, job.c_str(), hosts[size_t(rank)]));
      if (h.comm == nullptr) return h.error;
      plait_level levels[2]{};
      levels[0].struct_size = levels[1].struct_size = sizeof levels[0];
      size_t count = 0;
      if (plait_comm_levels(h.comm, levels, 2, &count) != PLAIT_OK || count != 2) return "levels";
      if (levels[0].group_count != int(layout.size()) || std::strcmp(levels[1].transport, "tcp") != 0)
        return "level";
      std::string words = sums(h.comm, rank, size);
      return words.empty() ? sums(h.comm, rank, size, "ring") : words;
    });
  }
}

// Over rails a sender may hear that parts were read after the peer has made room for others in their place.
TEST(Layouts, SeveralRails) {
  const std::string job = fresh_job();
  run_ranks(processes(4), [&](int rank, int size) -> std::string {
    plait_comm_config config = config_of(rank, size, job.c_str(), "host-" + std::to_string(rank));
    config.network = "tcp:lo,tcp:lo";
    Handle h(config);
    if (h.comm == nullptr) return h.error;
    std::string words = sums(h.comm, rank, size);
    std::vector<float> x(size_t{4} << 20, float(rank + 1));
    for (float sum = 10; sum <= 40 && words.empty(); sum *= 4) {
      if (plait_allreduce(h.comm, x.data(), x.data(), x.size(), PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr) !=
          PLAIT_OK)
        return plait_last_error(h.comm);
      if (std::any_of(x.begin(), x.end(), [&](float element) { return element != sum; })) words = "wrong";
    }
    return words;
  });
}

// A barrier lets nobody go before all are there: each adds its one before, and sees all of them after.
std::string meets(plait_comm* comm, std::atomic<int>& here, int size, const char* algorithm) {
  plait_call_config config{};
  config.struct_size = sizeof config;
  config.algorithm = algorithm;
  for (int round = 1; round <= 20; round++) {
    here++;
    if (plait_barrier(comm, &config, nullptr) != PLAIT_OK) return plait_last_error(comm);
    if (here < round * size) return std::string(algorithm) + " let a rank go before all were there";
  }
  return {};
}

// Level by level, by name: hosts of two, hosts of three, two and one, round-robin placement, and no order at
// all. (Ranks are threads here; each of the algorithms there are is run by runtime_collectives.)
TEST(Layouts, LevelByLevel) {
  for (const char* placement : {"aabb", "aaabbc", "abab", "cababa"}) {
    const std::string job = fresh_job();
    const int n = int(std::strlen(placement));
    std::atomic<int> here[4]{};
    const std::string words = run_threads(0, n, n, [&](int rank, int size) -> std::string {
      Handle h(config_of(rank, size, job.c_str(), std::string("host-") + placement[rank]));
      if (h.comm == nullptr) return h.error;
      for (const char* name :
           {"ring/ring", "direct/direct", "star/recursive_doubling", "binomial/rabenseifner"}) {
        if (std::string why = sums(h.comm, rank, size, name); !why.empty()) return why;
      }
      int k = 0;
      for (const char* name : {"star/dissemination", "star/binomial", "binomial/star", "binomial/binomial"}) {
        if (std::string why = meets(h.comm, here[k++], size, name); !why.empty()) return why;
      }
      return {};
    });
    EXPECT_EQ(words, "") << placement;
  }
}

// Two ranks of each of two hosts: rank 0 waits for ranks 1 and 2 at once, which wait for each other, rank 0
// and rank 3. Whoever gives up first knows that rank 3 is missing, though it may never have met it.
TEST(Blame, RunsAlongEachOfTheChainsThatARankWaitsIn) {
  for (int impatient : {0, 1, 2}) {
    const std::string job = fresh_job();
    std::atomic<bool> told{false};
    const std::string words = run_threads(0, 4, 4, [&](int rank, int size) -> std::string {
      plait_comm_config config = config_of(rank, size, job.c_str(), rank < 2 ? "host-a" : "host-b");
      config.timeout_ms = rank == impatient ? 1'500 : 60'000;
      Handle h(config);
      std::string why = h.comm == nullptr ? h.error : sums(h.comm, rank, size, "direct/direct");
      if (rank == 3) {
        for (int i = 0; i < 30'000 && !told; i++) usleep(1000);
        return why;
      }
      if (why.empty()) {
        why = sums(h.comm, rank, size, "direct/direct");
        if (rank != impatient || (contains(why, "deadline passed") && contains(why, "rank 3"))) why.clear();
      }
      if (rank == impatient) told = true;
      return why;
    });
    EXPECT_EQ(words, "") << "rank " << impatient << " gives up first";
  }
}

// Rank 3 calls early, learns that rank 0 has not come, and looks no more (as if stopped). What it blamed is
// outdated once rank 0 came: all the others name rank 3.
TEST(Blame, OfARankThatLooksNoMoreIsItsLastWordOnly) {
  for (int impatient : {0, 1, 2}) {
    const std::string job = fresh_job();
    std::atomic<bool> silent{false}, told{false};
    const std::string words = run_threads(0, 4, 4, [&](int rank, int size) -> std::string {
      plait_comm_config config = config_of(rank, size, job.c_str(), rank < 2 ? "host-a" : "host-b");
      config.timeout_ms = rank == impatient ? 2'500 : 60'000;
      Handle h(config);
      std::string why = h.comm == nullptr ? h.error : sums(h.comm, rank, size, "direct/direct");
      plait_call_config by{};
      by.struct_size = sizeof by;
      by.algorithm = "direct/direct";
      std::vector<float> x(1000);
      plait_request* request = nullptr;
      if (rank == 3) {
        if (why.empty() && plait_allreduce(h.comm, x.data(), x.data(), x.size(), PLAIT_FLOAT32, PLAIT_SUM,
                                           &by, &request) != PLAIT_OK)
          why = plait_last_error(h.comm);
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
        for (int done = 0; why.empty() && std::chrono::steady_clock::now() < end;)
          if (plait_test(request, &done) != PLAIT_OK || done != 0) why = "rank 3 does not wait";
        silent = true;
        for (int i = 0; i < 30'000 && !told; i++) usleep(1000);
        if (request != nullptr) (void)plait_wait(request);
        return why;
      }
      while (rank == 0 && !silent) usleep(1000);
      if (why.empty() && plait_allreduce(h.comm, x.data(), x.data(), x.size(), PLAIT_FLOAT32, PLAIT_SUM, &by,
                                         nullptr) == PLAIT_OK)
        why = "the operation ended without rank 3";
      else if (why.empty() && rank == impatient && !contains(plait_last_error(h.comm), "rank 3 "))
        why = plait_last_error(h.comm);
      if (rank == impatient) told = true;
      return why;
    });
    EXPECT_EQ(words, "") << "rank " << impatient << " gives up first";
  }
}

TEST(Networks, AreAlikeOnAllRanks) {
  const std::string job = fresh_job();
  run_ranks(processes(3), [&](int rank, int size) -> std::string {
    auto c = config_of(rank, size, job.c_str(), "host-" + std::to_string(rank));
    c.network = rank == 1 ? "tcp" : "tcp:lo,tcp:lo";
    Handle h(c);
    if (h.comm != nullptr) return "ranks of different networks made a communicator";
    const std::string its =
        rank == 1 ? "\"tcp,tcp\", of this rank \"tcp\"" : "\"tcp\", of this rank \"tcp,tcp\"";
    return contains(h.error, its) && contains(h.error, "PLAIT_NETWORK") ? "" : h.error;
  });
}

TEST(Networks, OfTwoRails) {
  const std::string job = fresh_job();
  run_ranks(processes(3), [&](int rank, int size) -> std::string {
    auto c = config_of(rank, size, job.c_str(), "host-" + std::to_string(rank));
    c.network = "tcp:127.0.0.1,tcp:lo";
    Handle h(c);
    return h.comm == nullptr ? h.error : sums(h.comm, rank, size);
  });
}

// Of whatever fabrics this build has: all are loaded.
TEST(Networks, LeaveSignalsAlone) {
  struct sigaction before[32]{}, after[32]{};
  for (int s = 1; s < 32; s++) sigaction(s, nullptr, &before[s]);
  size_t length = 0;
  ASSERT_EQ(plait_list_networks(nullptr, 0, &length), PLAIT_OK) << plait_last_error(nullptr);
  EXPECT_GT(length, 0u);
  for (int s = 1; s < 32; s++) {
    sigaction(s, nullptr, &after[s]);
    EXPECT_EQ(before[s].sa_sigaction, after[s].sa_sigaction) << "signal " << s;
  }
}

TEST(Networks, ByAnInterface) {
  const std::string job = fresh_job();
  run_ranks(processes(3), [&](int rank, int size) -> std::string {
    auto c = config_of(rank, size, job.c_str(), "host-" + std::to_string(rank));
    c.network = rank == 1 ? "tcp:lo" : "tcp:127.0.0.1";
    Handle h(c);
    return h.comm == nullptr ? h.error : sums(h.comm, rank, size);
  });
}

int descriptors() {
  DIR* dir = opendir("/proc/self/fd");
  int n = 0;
  while (readdir(dir) != nullptr) n++;
  closedir(dir);
  return n;
}

// A ring of 24 touches two peers of each rank, not 23.
TEST(ByNeed, RanksAreConnectedWhereAPlanNeedsIt) {
  constexpr int kSize = 24;
  for (bool apart : {false, true}) {
    const std::string job = fresh_job();
    std::atomic<int> created{0}, most{0};
    EXPECT_EQ(run_threads(0, kSize, kSize,
                          [&](int rank, int size) -> std::string {
                            Handle h(config_of(rank, size, job.c_str(),
                                               apart ? "host-" + std::to_string(rank) : "one"));
                            if (h.comm == nullptr) return h.error;
                            std::string words = sums(h.comm, rank, size, "ring");
                            created++;
                            while (created < size) usleep(1000);
                            if (rank == 0) most = descriptors();
                            created++;
                            while (created < 2 * size) usleep(1000);
                            return words;
                          }),
              "");
    // A rank: its domains and its place in the tree, and 3 for each of 2 neighbours; a mesh would be 3 * 23
    // more.
    EXPECT_LT(most, kSize * 32) << (apart ? "TCP" : "shared memory");
  }
}

TEST(Many, RanksMeetAndSum) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const int threads = 64, size = files.rlim_max >= 8192 ? 512 : 128;
  const std::string job = fresh_job();
  timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  run_ranks(std::vector<int>(size_t(size / threads), threads), [&](int rank, int n) -> std::string {
    rlimit most{};
    getrlimit(RLIMIT_NOFILE, &most);
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_NOFILE, &most);
    Handle h(config_of(rank, n, job.c_str(), ""));
    if (h.comm == nullptr) return h.error;
    float x = 1;
    if (plait_allreduce(h.comm, &x, &x, 1, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr) != PLAIT_OK)
      return plait_last_error(h.comm);
    return x == float(n) ? "" : "the sum is " + std::to_string(x);
  });
  clock_gettime(CLOCK_MONOTONIC, &to);
  std::printf("%d ranks created a communicator, summed and destroyed it in %.2f s\n", size,
              double(to.tv_sec - from.tv_sec) + 1e-9 * double(to.tv_nsec - from.tv_nsec));
}

// A star's root has more to send the result to than one pass serves (real::kMostFused).
TEST(Many, ResultsReachAllFromOneRoot) {
  const std::string job = fresh_job();
  run_ranks({35, 35}, [&](int rank, int n) -> std::string {
    Handle h(config_of(rank, n, job.c_str(), ""));
    if (h.comm == nullptr) return h.error;
    plait_call_config star{};
    star.struct_size = sizeof star;
    star.algorithm = "star";
    constexpr size_t kCount = 20'000;
    void* mapped = nullptr;
    if (plait_mem_alloc(kCount * sizeof(float), &mapped) != PLAIT_OK) return plait_last_error(nullptr);
    std::vector<float> plain(kCount);
    std::string wrong;
    for (float* x : {static_cast<float*>(mapped), plain.data()}) {
      for (size_t i = 0; i < kCount; i++) x[i] = float(rank + int(i % 7));
      if (plait_allreduce(h.comm, x, x, kCount, PLAIT_FLOAT32, PLAIT_SUM, &star, nullptr) != PLAIT_OK)
        return plait_last_error(h.comm);
      for (size_t i = 0; i < kCount && wrong.empty(); i++) {
        const auto sum = float(n * (n - 1) / 2 + n * int(i % 7));
        if (x[i] != sum) wrong = "element " + std::to_string(i) + " is " + std::to_string(x[i]);
      }
    }
    // Peers may read from it until all are done.
    if (plait_barrier(h.comm, nullptr, nullptr) != PLAIT_OK) return plait_last_error(h.comm);
    return plait_mem_free(mapped) == PLAIT_OK ? wrong : plait_last_error(nullptr);
  });
}

}  // namespace
}  // namespace plait::test
