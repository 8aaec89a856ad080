// Ranks of the C API for tests: forked processes, threads, or both mixed, with a bound on time and a word
// from each.
#pragma once

#include <gtest/gtest.h>
#include <plait/plait.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace plait::test {

// What a rank says in the end: empty when all is well.
using RankMain = std::function<std::string(int rank, int size)>;

inline std::string fresh_job() {
  static std::atomic<int> next{0};
  return "test-" + std::to_string(getpid()) + "-" + std::to_string(next++);
}

struct Process {
  pid_t pid = -1;
  int pipe = -1;
  std::vector<int> ranks;
};

// Ranks [first, first + count) of `size` as threads of the calling process; what they say, joined.
inline std::string run_threads(int first, int count, int size, const RankMain& main) {
  std::vector<std::string> words{size_t(count)};
  std::vector<std::thread> threads;
  for (int t = 0; t < count; t++) threads.emplace_back([&, t] { words[size_t(t)] = main(first + t, size); });
  for (auto& t : threads) t.join();
  std::string all;
  for (int t = 0; t < count; t++) {
    if (!words[size_t(t)].empty())
      all += "rank " + std::to_string(first + t) + ": " + words[size_t(t)] + "\n";
  }
  return all;
}

inline Process fork_ranks(int first, int count, int size, const RankMain& main) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  Process p;
  p.pid = fork();
  if (p.pid == 0) {
    close(ends[0]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(120);  // a hang ends the process, and the test says so
    const std::string words = count == 1 ? main(first, size) : run_threads(first, count, size, main);
    if (write(ends[1], words.data(), words.size()) < 0) _exit(3);
    _exit(words.empty() ? 0 : 1);
  }
  close(ends[1]);
  p.pipe = ends[0];
  for (int t = 0; t < count; t++) p.ranks.push_back(first + t);
  return p;
}

// Waits for a process and returns its words; being killed counts as words unless `may_die`.
inline std::string join(Process& p, bool may_die = false) {
  std::string words;
  char buffer[4096];
  for (ssize_t n; (n = read(p.pipe, buffer, sizeof buffer)) > 0;) words.append(buffer, size_t(n));
  close(p.pipe);
  int status = 0;
  waitpid(p.pid, &status, 0);
  if (WIFSIGNALED(status) && !may_die) words += "killed by signal " + std::to_string(WTERMSIG(status));
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0 && words.empty() && !may_die)
    words = "exited with " + std::to_string(WEXITSTATUS(status)) + ", and said nothing";
  if (!words.empty()) words = "process of rank " + std::to_string(p.ranks.front()) + ": " + words;
  return words;
}

// `shape[i]` ranks as threads of process i: {1, 1, 1} three processes, {2, 1} two of which one has two
// threads. Each rank runs `main`; whatever any of them says fails the test.
inline void run_ranks(const std::vector<int>& shape, const RankMain& main) {
  int size = 0;
  for (int n : shape) size += n;
  std::vector<Process> processes;
  int first = 0;
  for (int n : shape) {
    processes.push_back(fork_ranks(first, n, size, main));
    first += n;
  }
  std::string words;
  for (auto& p : processes) words += join(p);
  EXPECT_EQ(words, "");
}

inline std::vector<int> processes(int n) { return std::vector<int>(size_t(n), 1); }

// PLAIT_TEST_RANKS_PER_HOST=k: k ranks share memory, the others are as on other hosts, joined by the network
// of this one. PLAIT_TEST_HOSTS=aab: a letter a rank, over and over, and ranks of one letter share memory.
// Both unset: all do.
inline std::string host_of(int rank) {
  const char* hosts = std::getenv("PLAIT_TEST_HOSTS");
  if (hosts != nullptr && *hosts != 0)
    return std::string("host-") + hosts[size_t(rank) % std::string_view(hosts).size()];
  const char* per_host = std::getenv("PLAIT_TEST_RANKS_PER_HOST");
  return per_host == nullptr ? "" : "host-" + std::to_string(rank / std::max(1, std::atoi(per_host)));
}

// A communicator of a test's rank.
class Comm {
 public:
  // Less than any test may take: what hangs is told of before it is killed.
  Comm(const std::string& job, int rank, int size, int64_t timeout_ms = 40'000) {
    if (plait_init(nullptr) != PLAIT_OK) return;
    plait_comm_config config{};
    config.struct_size = sizeof config;
    config.rank = rank;
    config.size = size;
    config.job = job.c_str();
    const std::string host = host_of(rank);
    config.host_id = host.empty() ? nullptr : host.c_str();
    config.bootstrap_timeout_ms = 30'000;
    config.timeout_ms = timeout_ms;
    status = plait_comm_create(&config, &comm);
    if (status != PLAIT_OK) error = plait_last_error(nullptr);
  }
  ~Comm() {
    if (comm != nullptr) plait_comm_destroy(comm);
    plait_finalize();
  }
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  std::string last() const { return plait_last_error(comm); }

  plait_comm* comm = nullptr;
  plait_status status = PLAIT_ERR_STATE;
  std::string error;
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace plait::test
