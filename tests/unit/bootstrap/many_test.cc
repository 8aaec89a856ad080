// 512 ranks on this machine: threads of a few processes.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"

namespace plait::bootstrap::test {
namespace {

constexpr int kProcesses = 4;
#ifdef PLAIT_SANITIZED
constexpr int kRanks = 96;
#else
constexpr int kRanks = 512;
#endif

// All that one rank does; what was wrong.
std::string rank_main(const Membership& m) {
  auto [group, status] = join(m, 60'000);
  if (!group) return std::string(status.text());
  for (int i = 0; i < 3; i++) {
    const Bytes mine(200, std::byte(m.rank));
    auto all = group->allgather(mine, within_ms(60'000));
    if (!all.ok()) return std::string(all.status().text());
    for (int r = 0; r < m.size; r++) {
      if ((*all)[size_t(r)] != Bytes(200, std::byte(r))) return "wrong bytes of rank " + std::to_string(r);
    }
  }
  return leave(*group, 60'000);
}

void raise_file_limit() {
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
}

void all_join(const std::string& root) {
  raise_file_limit();
  const std::string job = fresh_job();
  const int64_t start = now_ns();
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; p++) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      // Ranks p, p + kProcesses, ...
      run_ranks(kRanks / kProcesses,
                [&](int i) { return rank_main(member(job, i * kProcesses + p, kRanks, root)); });
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  printf("%d ranks joined, exchanged 3 times and left in %.2f s\n", kRanks, double(now_ns() - start) / 1e9);
}

TEST(Many, JoinOverTcp) { all_join(loopback_root()); }
TEST(Many, JoinOverUnixSockets) { all_join({}); }

}  // namespace
}  // namespace plait::bootstrap::test
