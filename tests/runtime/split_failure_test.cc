// Splits that cannot come about: every rank hears why, whom it is about, in time; nothing is left open; what
// was not part of it goes on.
#include <dirent.h>

#include <cstring>

#include "runtime/split_rig.h"

namespace plait::test {
namespace {

constexpr int64_t kLongMs = 60'000;  // what no test waits for

plait_comm_config within_ms(int64_t ms) {
  plait_comm_config config{};
  config.struct_size = sizeof config;
  config.bootstrap_timeout_ms = ms;
  return config;
}

std::string expect(plait_status got, plait_status want, const std::string& text,
                   const std::vector<std::string>& parts) {
  if (got != want) {
    return std::string("status ") + plait_status_string(got) + " (" + text + "), expected " +
           plait_status_string(want);
  }
  for (const std::string& part : parts) {
    if (!contains(text, part)) return "text lacks \"" + part + "\": " + text;
  }
  return {};
}

// What /proc/self/NAME lists: "fd", "task".
int count_of(const char* name) {
  int count = 0;
  DIR* folder = opendir((std::string("/proc/self/") + name).c_str());
  while (folder != nullptr && readdir(folder) != nullptr) count++;
  if (folder != nullptr) closedir(folder);
  return count;
}

// `body` on each of n ranks, which leaves as many descriptors and threads as there were before its
// communicator.
void leaving_nothing(int n, const std::function<std::string(Comm&, int rank)>& body) {
  const std::string job = fresh_job();
  run_ranks(processes(n), [&](int rank, int size) -> std::string {
    { Comm first(fresh_job(), 0, 1); }  // what lives as long as the process
    const int descriptors = count_of("fd"), threads = count_of("task");
    std::string bad;
    {
      Comm c(job, rank, size, kLongMs);
      bad = c.status != PLAIT_OK ? c.error : body(c, rank);
    }
    // The arena, and others' arenas in it, live as long as the process.
    const int kept = count_of("fd") - descriptors;
    if (bad.empty() && kept > n) bad = std::to_string(kept) + " descriptors are left";
    if (bad.empty() && count_of("task") != threads) bad = "a thread is left";
    return bad;
  });
}

// (Who is still in the barrier when the others disagree about what comes next may learn of it there.)
TEST(Mismatch, ASplitMeetsAnotherCall) {
  leaving_nothing(3, [](Comm& c, int rank) -> std::string {
    plait_comm* child = nullptr;
    float x = 0;
    plait_status status = plait_barrier(c.comm, nullptr, nullptr);
    if (status == PLAIT_OK) {
      status = rank == 1 ? plait_allreduce(c.comm, &x, &x, 1, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr)
                         : plait_comm_split(c.comm, 0, 0, nullptr, &child);
    }
    if (status == PLAIT_OK) status = plait_barrier(c.comm, nullptr, nullptr);
    if (child != nullptr) return "a child came about";
    return expect(status, PLAIT_ERR_MISMATCH, c.last(), {"rank 1", "comm_split", "allreduce"});
  });
}

TEST(Mismatch, ASplitMeetsADup) {
  leaving_nothing(2, [](Comm& c, int rank) -> std::string {
    plait_comm* child = nullptr;
    const plait_status status =
        rank == 1 ? plait_comm_dup(c.comm, nullptr, &child) : plait_comm_split(c.comm, 0, 0, nullptr, &child);
    return expect(status, PLAIT_ERR_MISMATCH, c.last(), {"comm_split", "comm_dup"});
  });
}

TEST(Timeout, NamesTheRankThatNeverSplits) {
  leaving_nothing(3, [](Comm& c, int rank) -> std::string {
    if (plait_barrier(c.comm, nullptr, nullptr) != PLAIT_OK) return c.last();
    if (rank == 2) {
      usleep(2'500'000);
      return {};
    }
    const plait_comm_config config = within_ms(1'000);
    plait_comm* child = nullptr;
    const plait_status status = plait_comm_split(c.comm, 0, 0, &config, &child);
    std::string bad = expect(status, PLAIT_ERR_TIMEOUT, c.last(), {"comm_split"});
    if (bad.empty() && rank == 0 && !contains(c.last(), "rank 2") && !contains(c.last(), "gave up"))
      bad = "text names nobody: " + c.last();
    return bad;
  });
}

TEST(Abort, OfTheParentEndsASplit) {
  leaving_nothing(3, [](Comm& c, int rank) -> std::string {
    if (plait_barrier(c.comm, nullptr, nullptr) != PLAIT_OK) return c.last();
    if (rank == 2) {
      usleep(200'000);
      plait_comm_abort(c.comm);
      return plait_barrier(c.comm, nullptr, nullptr) == PLAIT_ERR_ABORTED ? "" : c.last();
    }
    plait_comm* child = nullptr;
    const plait_status status = plait_comm_split(c.comm, 0, 0, nullptr, &child);
    return expect(status, PLAIT_ERR_ABORTED, c.last(), {"abort"});
  });
}

// A rank has no descriptor left for its new listener: its child cannot be, others can, and the parent goes
// on.
TEST(Shortage, OfOneRankEndsItsChildOnly) {
  const std::string job = fresh_job();
  run_ranks(processes(4), [&](int rank, int n) -> std::string {
    Comm c(job, rank, n);
    if (c.status != PLAIT_OK) return c.error;
    std::string bad = check_child(c.comm, {0, 1, 2, 3}, rank, 1000);
    // Sanitizers look at a type that they meet for the first time with descriptors of their own: an error's
    // is met here.
    if (plait_comm_split(c.comm, 0, 0, nullptr, nullptr) == PLAIT_OK) return "nowhere to put a communicator";
    std::vector<int> taken;
    if (rank == 3) {
      for (int fd = 0; (fd = dup(0)) >= 0;) taken.push_back(fd);
    }
    plait_comm* child = nullptr;
    const plait_status status = plait_comm_split(c.comm, rank % 2, 0, nullptr, &child);
    const std::string text = c.last();
    for (int fd : taken) close(fd);
    if (rank % 2 == 0) {
      if (status != PLAIT_OK) return text;
      if (bad.empty()) bad = check_child(child, {0, 2}, rank, 1000);
      plait_comm_destroy(child);
    } else if (bad.empty()) {
      bad = expect(status, PLAIT_ERR_SYSTEM, text, {"rank 3"});
    }
    if (bad.empty()) bad = check_child(c.comm, {0, 1, 2, 3}, rank, 1000);
    return bad;
  });
}

// Rank `victim` is killed while all split again and again: every other rank hears of it, and it breaks every
// communicator that the rank was in, but none that it was not in.
void kill_while_splitting(int n, int victim) {
  const std::string job = fresh_job();
  std::vector<Process> ranks;
  auto body = [&](int rank, int size) -> std::string {
    Comm c(job, rank, size, 20'000);
    if (c.status != PLAIT_OK) return c.error;
    const std::string name = "rank " + std::to_string(victim);
    plait_comm *without = nullptr, *with = nullptr;
    if (plait_comm_split(c.comm, rank == victim ? PLAIT_NO_COLOR : 0, 0, nullptr, &without) != PLAIT_OK)
      return c.last();
    if (plait_comm_dup(c.comm, nullptr, &with) != PLAIT_OK) return c.last();
    std::vector<int> others;
    for (int r = 0; r < size; r++) {
      if (r != victim) others.push_back(r);
    }
    plait_status status = PLAIT_OK;
    for (int i = 0; i < 100'000 && status == PLAIT_OK; i++) {
      if (rank == victim && i == 5) {
        // In the middle of a split, or nearly: another process of this one's ends it.
        if (fork() == 0) {
          usleep(useconds_t(victim + 1) * 700);
          kill(getppid(), SIGKILL);
          _exit(0);
        }
      }
      plait_comm* child = nullptr;
      status = plait_comm_split(c.comm, 0, 0, nullptr, &child);
      if (child != nullptr) plait_comm_destroy(child);
    }
    std::string bad = expect(status, PLAIT_ERR_PEER, c.last(), {name});
    if (bad.empty() && plait_barrier(c.comm, nullptr, nullptr) != PLAIT_ERR_PEER) bad = "the parent forgot";
    if (bad.empty() && plait_barrier(with, nullptr, nullptr) != PLAIT_ERR_PEER)
      bad = std::string("a child with the dead: ") + plait_last_error(with);
    if (bad.empty()) bad = check_child(without, others, rank, 3000);
    plait_comm_destroy(with);
    plait_comm_destroy(without);
    return bad;
  };
  for (int r = 0; r < n; r++) ranks.push_back(fork_ranks(r, 1, n, body));
  std::string words;
  for (int r = 0; r < n; r++) {
    const std::string w = join(ranks[size_t(r)], r == victim);
    if (r != victim) words += w;
  }
  EXPECT_EQ(words, "");
}

TEST(Killed, InTheMiddleOfSplits) {
  for (int victim : {0, 1, 2, 3}) kill_while_splitting(4, victim);
}

// Stopped for longer than the deadline, between two splits: named, by who sees it.
TEST(Stopped, LongerThanTheDeadline) {
  const std::string job = fresh_job();
  std::vector<Process> ranks;
  auto body = [&](int rank, int size) -> std::string {
    Comm c(job, rank, size);
    if (c.status != PLAIT_OK) return c.error;
    plait_comm* child = nullptr;
    if (plait_comm_dup(c.comm, nullptr, &child) != PLAIT_OK) return c.last();
    plait_comm_destroy(child);
    if (rank == 1) raise(SIGSTOP);
    const plait_comm_config config = within_ms(1'000);
    const plait_status status = plait_comm_dup(c.comm, &config, &child);
    return rank == 1 ? "" : expect(status, PLAIT_ERR_TIMEOUT, c.last(), {"rank 1"});
  };
  for (int r = 0; r < 2; r++) ranks.push_back(fork_ranks(r, 1, 2, body));
  EXPECT_EQ(join(ranks[0]), "");
  kill(ranks[1].pid, SIGCONT);
  EXPECT_EQ(join(ranks[1]), "");
}

}  // namespace
}  // namespace plait::test
