// Kernels and containers that refuse what shm would like: it works without, or says what is missing.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>

#include "../../support/fork_exchange.h"
#include "rig.h"

namespace plait::transport::shm::test {
namespace {

using transport::test::run_forked;

// From here on `call` gives EPERM in this process, as under a container's seccomp profile.
bool refuse(uint32_t call) {
  sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog all{4, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

// Each signals and stores to the other, and sleeps in between.
void talk(Rig& rig) {
  Endpoint& peer = rig.to(1 - rig.rank());
  SharedBlock block(size_t{1} << 20);
  auto region = rig.domain->expose(block.memory(), Access::both);
  auto keys = rig.share((*region)->key());
  auto remote = peer.import(keys[size_t(1 - rig.rank())]);
  ASSERT_TRUE(remote.ok()) << remote.status().text();
  Bytes source(block.bytes);
  fill(source.data(), source.size(), uint32_t(rig.rank()));
  EXPECT_EQ(rig.run(peer, {make_put(source.data(), source.size(), **remote, 0, {0, 1})}), Code::ok);
  const Transfer one = make_signal({0, 1});
  Deadline deadline = Deadline::in_ms(kLimitMs);
  for (uint64_t i = 2; i < 50; ++i) {
    peer.post({&one, 1});
    while (rig.domain->poll({}), peer.counter(0).load() < i) {
      ASSERT_FALSE(deadline.passed());
      if (!rig.domain->arm()) continue;
      pollfd fd{rig.domain->wait_fd(), POLLIN, 0};
      ::poll(&fd, 1, fd.fd < 0 ? 1 : deadline.left_ms());
    }
  }
  EXPECT_TRUE(holds(block.data, block.bytes, uint32_t(1 - rig.rank())));
  rig.barrier();
}

void close_under_fire(Rig& rig) {
  Endpoint& peer = rig.to(1 - rig.rank());
  const Transfer one = make_signal({1, 1});
  auto ended = [&] {
    if (rig.rank() == 0 && peer.counter(1).load() > 5) peer.close();
    if (rig.rank() == 1) peer.post({&one, 1});
    return peer.state() != State::ready;
  };
  EXPECT_TRUE(poll_until(*rig.domain, ended));
  rig.barrier();
}

TEST(ShmRefused, WithoutMembarrierSleepsAreShort) {
  for (int refusing = 1; refusing <= 2; ++refusing) {  // one rank, then both
    auto statuses = run_forked(2, [&](Exchange& exchange) {
      ASSERT_TRUE(exchange.rank() >= refusing || refuse(SYS_membarrier));
      Rig rig(exchange);
      ASSERT_TRUE(rig);
      EXPECT_EQ(rig.domain->wait_fd(), -1);
      talk(rig);
      close_under_fire(rig);
    });
    for (int status : statuses) EXPECT_EQ(status, 0);
  }
}

TEST(ShmRefused, WithoutPidfdAllElseWorks) {
  auto statuses = run_forked(2, [](Exchange& exchange) {
    ASSERT_TRUE(refuse(SYS_pidfd_open));
    Rig rig(exchange);
    ASSERT_TRUE(rig);
    talk(rig);
    if (rig.rank() == 1) kill(getpid(), SIGKILL);
    EXPECT_TRUE(poll_until(*rig.domain, [&] { return rig.to(1).state() == State::failed; }));
  });
  EXPECT_EQ(statuses[0], 0);
}

TEST(ShmRefused, WithoutCmaPlainMemoryIsUnsupportedByName) {
  auto statuses = run_forked(2, [](Exchange& exchange) {
    ASSERT_TRUE(refuse(SYS_process_vm_readv));
    Rig rig(exchange);
    ASSERT_TRUE(rig);
    Bytes plain(64);
    auto region = rig.domain->expose({plain.data(), plain.size()}, Access::both);
    auto keys = rig.share((*region)->key());
    auto remote = rig.to(1 - rig.rank()).import(keys[size_t(1 - rig.rank())]);
    ASSERT_FALSE(remote.ok());
    EXPECT_EQ(remote.status().code(), Code::unsupported);
    EXPECT_NE(remote.status().text().find("ptrace_scope"), std::string_view::npos);
    talk(rig);
  });
  for (int status : statuses) EXPECT_EQ(status, 0);
}

TEST(ShmRefused, WithoutMemfdTheDomainSaysSo) {
  auto statuses = run_forked(1, [](Exchange&) {
    ASSERT_TRUE(refuse(SYS_memfd_create));
    auto domain = make_domain();
    ASSERT_FALSE(domain.ok());
    EXPECT_EQ(domain.status().code(), Code::system);
    EXPECT_NE(domain.status().text().find("memfd"), std::string_view::npos) << domain.status().text();
  });
  EXPECT_EQ(statuses[0], 0);
}

TEST(ShmRefused, AnotherUserIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  for (int round = 0; round < 4; ++round) {  // either may dial
    auto statuses = run_forked(2, [](Exchange& exchange) {
      ASSERT_TRUE(exchange.rank() == 0 || setresuid(65534, 65534, 65534) == 0);
      auto domain = make_domain();
      ASSERT_TRUE(domain.ok()) << domain.status().text();
      auto wired = wire_up(**domain, exchange, 1, in_time());
      ASSERT_FALSE(wired.ok());
      bool named = wired.status().text().find(" is of user ") != std::string_view::npos;
      auto all = exchange.allgather(bytes_of(named), in_time());
      ASSERT_TRUE(all.ok());
      EXPECT_TRUE((*all)[0][0] == std::byte(1) || (*all)[1][0] == std::byte(1)) << wired.status().text();
    });
    for (int status : statuses) EXPECT_EQ(status, 0);
  }
}

}  // namespace
}  // namespace plait::transport::shm::test
