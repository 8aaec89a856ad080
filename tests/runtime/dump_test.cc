// The flight recorder as users meet it: by call, by error, by signal.
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/ranks.h"
#include "support/sanitizers.h"

namespace plait::test {
namespace {

using nlohmann::json;

// A folder for dumps that PLAIT_DUMP names, until it goes out of scope.
class Folder {
 public:
  Folder() {
    char name[] = "/tmp/plait-dump-test-XXXXXX";
    path_ = mkdtemp(name);
    setenv("PLAIT_DUMP", (path_ + "/d").c_str(), 1);
  }
  ~Folder() {
    unsetenv("PLAIT_DUMP");
    std::filesystem::remove_all(path_);
  }
  std::string file(int rank, int communicator = 0) const {
    return path_ + "/d." + std::to_string(rank) + "." + std::to_string(communicator) + ".json";
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

json load(const std::string& path) {
  std::ifstream file(path);
  return json::parse(file, nullptr, false);
}

// Waits until the file at `path` was written for the reason `why`.
json load_when(const std::string& path, const std::string& why) {
  for (int i = 0; i < 2000; i++) {
    json d = load(path);
    if (d.is_object() && d["why"] == why) return d;
    usleep(5000);
  }
  return load(path);
}

plait_status sum(plait_comm* comm, size_t count = 1) {
  std::vector<float> x(count);
  return plait_allreduce(comm, x.data(), x.data(), count, PLAIT_FLOAT32, PLAIT_SUM, nullptr, nullptr);
}

// Says what is wrong with the record of rank 0, which waits in operation 2 for rank 1.
std::string check_waiting(const json& d, const char* why) {
  if (!d.is_object()) return "no record";
  if (d["why"] != why || d["started"] != 2 || d["done"] != 1) return "wrong: " + d.dump();
  if (d["operations"][1]["state"] != "running" || d["operations"][1]["kind"] != "allreduce") return d.dump();
  const json& arrived = d["arrived"];
  if (arrived.size() != 2 || arrived[1]["ranks"][0] != 1 || arrived[1]["operation"] != 1)
    return arrived.dump();
  // In messages, where both ranks have a core; on the commons elsewhere.
  const std::string peer = d["waiting"]["for"];
  if (!contains(peer, "rank 1 (step 2: reduce ") && peer != "rank 1 (to show its values)")
    return d["waiting"].dump();
  if (d["waiting"]["ms"] < 100) return d["waiting"].dump();
  return {};
}

TEST(Dump, ByCallFromAnotherThreadWhileTheRankWaits) {
  Folder folder;
  run_ranks(processes(2), [&](int rank, int size) -> std::string {
    Comm c("dump-by-call-" + folder.path(), rank, size);
    if (c.status != PLAIT_OK || sum(c.comm) != PLAIT_OK) return c.error;
    if (rank == 1) {
      usleep(600'000);
      return sum(c.comm) == PLAIT_OK ? "" : c.last();
    }
    std::thread driver([&] { sum(c.comm); });
    usleep(300'000);
    const std::string path = folder.path() + "/mine.json";
    const plait_status status = plait_comm_dump(c.comm, path.c_str());
    const plait_status preset = plait_comm_dump(c.comm, nullptr);
    driver.join();
    if (status != PLAIT_OK || preset != PLAIT_OK) return c.last();
    const std::string bad = check_waiting(load(path), "call");
    return bad.empty() ? check_waiting(load(folder.file(0)), "call") : bad;
  });
}

TEST(Dump, WhileOthersDrive) {
  Folder folder;
  const std::string words = run_threads(0, 2, 2, [&](int rank, int size) -> std::string {
    Comm c("dump-while-" + folder.path(), rank, size);
    if (c.status != PLAIT_OK) return c.error;
    std::atomic<bool> stop{false};
    std::string bad;
    std::thread dumper([&] {
      while (!stop && bad.empty()) {
        if (plait_comm_dump(c.comm, nullptr) != PLAIT_OK) bad = plait_last_error(nullptr);
        if (!load(folder.file(rank)).is_object()) bad = "not whole";
      }
    });
    for (int i = 0; i < 300; i++) (void)sum(c.comm, size_t(i) * 20);
    stop = true;
    dumper.join();
    return bad;
  });
  EXPECT_EQ(words, "");
}

TEST(Dump, GoesToStderrWhereNothingElseIsSaid) {
  run_ranks({1}, [](int, int) -> std::string {
    Comm c("", 0, 1);
    char name[] = "/tmp/plait-dump-stderr-XXXXXX";
    const int file = mkstemp(name), before = dup(2);
    dup2(file, 2);
    sum(c.comm);
    const plait_status status = plait_comm_dump(c.comm, nullptr);
    dup2(before, 2);
    const json d = load(name);
    unlink(name);
    return status == PLAIT_OK && d.is_object() && d["done"] == 1 ? "" : d.dump();
  });
}

TEST(Dump, SaysWhyItCannot) {
  run_ranks({1}, [](int, int) -> std::string {
    Comm c("", 0, 1);
    if (plait_comm_dump(nullptr, nullptr) != PLAIT_ERR_INVALID) return "a null handle";
    if (plait_comm_dump(c.comm, "") != PLAIT_ERR_INVALID) return "an empty path";
    if (plait_comm_dump(c.comm, "/no/such/folder/x") != PLAIT_ERR_SYSTEM) return "no folder";
    if (!contains(plait_last_error(nullptr), "/no/such/folder/x: No such file"))
      return plait_last_error(nullptr);
    setenv("PLAIT_DUMP", std::string(3000, 'x').c_str(), 1);
    return plait_init(nullptr) == PLAIT_ERR_INVALID ? "" : "a prefix that is no path";
  });
}

TEST(Dump, WrittenOnErrorAndLeftOnlyThen) {
  Folder folder;
  run_ranks(processes(3), [&](int rank, int size) -> std::string {
    const std::string job = "dump-on-error-" + folder.path();
    {
      Comm fine(job, rank, size);
      if (load(folder.file(rank))["why"] != "created") return "nothing tells of a new communicator";
      if (sum(fine.comm) != PLAIT_OK) return fine.last();
    }
    if (access(folder.file(rank).c_str(), F_OK) == 0)
      return "a record is left of a communicator that did well";
    Comm c(job, rank, size);
    const plait_status status = rank == 2 ? plait_barrier(c.comm, nullptr, nullptr) : sum(c.comm, 5000);
    if (status != PLAIT_ERR_MISMATCH) return "status " + std::to_string(status);
    const std::string text = c.last();
    const json d = load(folder.file(rank, 1));
    if (d["why"] != "error" || d["error"]["status"] != PLAIT_ERR_MISMATCH) return d.dump();
    if (!contains(text, d["error"]["text"].get<std::string>().substr(0, 100))) return d["error"].dump();
    return d["operations"][0]["state"] == "failed" ? "" : d["operations"].dump();
  });
  EXPECT_TRUE(std::filesystem::exists(folder.file(2, 1)));
}

TEST(Dump, TellsWhoDidNotComeToCreate) {
  Folder folder;
  run_ranks({1}, [&](int, int) -> std::string {
    plait_init(nullptr);
    plait_comm_config config{};
    config.struct_size = sizeof config;
    config.size = 2;
    config.job = "dump-alone";
    config.bootstrap_timeout_ms = 300;
    plait_comm* comm = nullptr;
    if (plait_comm_create(&config, &comm) != PLAIT_ERR_TIMEOUT) return "created?";
    const json d = load(folder.file(0));
    return d["created"] == false && d["error"]["status"] == PLAIT_ERR_TIMEOUT ? "" : d.dump();
  });
}

TEST(DumpSignal, WhileWaiting) {
  Folder folder;
  std::vector<Process> ranks;
  for (int r = 0; r < 2; r++) {
    ranks.push_back(fork_ranks(r, 1, 2, [&](int rank, int size) -> std::string {
      Comm c("dump-waiting-" + folder.path(), rank, size);
      if (sum(c.comm) != PLAIT_OK) return c.last();
      if (rank == 1) usleep(1'000'000);
      return sum(c.comm) == PLAIT_OK ? "" : c.last();
    }));
  }
  usleep(600'000);
  kill(ranks[0].pid, SIGUSR1);
  EXPECT_EQ(check_waiting(load_when(folder.file(0), "signal"), "signal"), "");
  EXPECT_EQ(join(ranks[0]) + join(ranks[1]), "");
  EXPECT_EQ(load(folder.file(0))["why"], "signal") << "it was asked for, and is kept";
}

TEST(DumpSignal, WhileComputing) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer hands on signals at calls only";
  Folder folder;
  Process rank = fork_ranks(0, 1, 1, [&](int, int) -> std::string {
    Comm c("", 0, 1);
    sum(c.comm);
    for (volatile bool forever = true; forever;) {
    }
    return {};
  });
  (void)load_when(folder.file(0), "created");
  usleep(100'000);
  kill(rank.pid, SIGUSR1);
  const json d = load_when(folder.file(0), "signal");
  EXPECT_EQ(d["done"], 1) << d.dump();
  kill(rank.pid, SIGKILL);
  (void)join(rank, true);
}

TEST(DumpSignal, WritesEveryCommunicatorWhileTheyComeAndGo) {
  Folder folder;
  run_ranks({1}, [&](int, int) -> std::string {
    std::atomic<bool> stop{false};
    Comm lasting("", 0, 1);
    std::thread signals([&] {
      while (!stop) kill(getpid(), SIGUSR1), usleep(200);
    });
    for (int i = 0; i < 300; i++) Comm("", 0, 1);
    stop = true;
    signals.join();
    return load(folder.file(0))["why"] == "signal" ? "" : "no record";
  });
}

std::atomic<int> g_taken{0};

TEST(DumpSignal, LeavesTheProgramItsHandler) {
  Folder folder;
  run_ranks({1}, [&](int, int) -> std::string {
    signal(SIGUSR1, [](int) { g_taken++; });
    {
      Comm c("", 0, 1);
      raise(SIGUSR1);
      if (load(folder.file(0))["why"] != "created" || load(folder.file(0))["signal"] != false)
        return "written";
    }
    raise(SIGUSR1);
    return g_taken == 2 ? "" : "the program's handler was called " + std::to_string(g_taken) + " times";
  });
}

TEST(DumpSignal, IsGivenBack) {
  Folder folder;
  run_ranks({1}, [&](int, int) -> std::string {
    struct sigaction now {};
    { Comm c("", 0, 1); }
    sigaction(SIGUSR1, nullptr, &now);
    if (now.sa_handler != SIG_DFL) return "not given back";
    {
      Comm c("", 0, 1);
      signal(SIGUSR1, SIG_IGN);
    }
    sigaction(SIGUSR1, nullptr, &now);
    return now.sa_handler == SIG_IGN ? "" : "what the program set later was undone";
  });
}

TEST(DumpSignal, ForkedChildrenStaySilent) {
  Folder folder;
  run_ranks({1}, [&](int, int) -> std::string {
    Comm c("", 0, 1);
    const pid_t child = fork();
    if (child == 0) {
      raise(SIGUSR1);
      _exit(7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) return "the child was killed";
    return load(folder.file(0))["why"] == "created" ? "" : "the child wrote its parent's record";
  });
}

}  // namespace
}  // namespace plait::test
