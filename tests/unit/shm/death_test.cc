// Who dies, and who closes: what the others learn, and what may still land.
#include <sys/wait.h>

#include <csignal>

#include "../../support/fork_exchange.h"
#include "../../support/local_exchange.h"
#include "rig.h"

namespace plait::transport::shm::test {
namespace {

using transport::test::run_forked;
using transport::test::run_threads;

bool sleeps_until(Rig& rig, const std::function<bool()>& done) {
  Deadline deadline = Deadline::in_ms(kLimitMs);
  for (;;) {
    Done got[8];
    rig.dones.insert(rig.dones.end(), got, got + rig.domain->poll(got));
    if (done()) return true;
    if (deadline.passed()) return false;
    if (!rig.domain->arm() || done()) continue;
    pollfd fd{rig.domain->wait_fd(), POLLIN, 0};
    ::poll(&fd, 1, fd.fd < 0 ? 1 : deadline.left_ms());
  }
}

void expect_lost(Rig& rig, int peer) {
  ASSERT_TRUE(sleeps_until(rig, [&] { return !rig.dones.empty(); }));
  EXPECT_EQ(rig.dones[0].cookie, uint64_t(peer));
  EXPECT_EQ(rig.dones[0].status, Code::peer);
  EXPECT_EQ(rig.to(peer).state(), State::failed);
  EXPECT_NE(rig.to(peer).error().find("exited or was killed"), std::string_view::npos)
      << rig.to(peer).error();
}

TEST(ShmDeath, AKilledPeerWakesASleeperAndReturnsItsCookieOnce) {
  auto statuses = run_forked(3, [](Exchange& exchange) {
    Rig rig(exchange);
    ASSERT_TRUE(rig);
    rig.barrier();
    if (rig.rank() == 2) kill(getpid(), SIGKILL);
    expect_lost(rig, 2);
    for (int i = 0; i < 1000; ++i) rig.domain->poll({});
    EXPECT_EQ(rig.to(1 - rig.rank()).state(), State::ready);
    EXPECT_EQ(rig.dones.size(), 1U);
    // The others go on.
    const Transfer one = make_signal({0, 1});
    EXPECT_EQ(rig.to(1 - rig.rank()).post({&one, 1}), 1U);
    EXPECT_TRUE(sleeps_until(rig, [&] { return rig.to(1 - rig.rank()).counter(0) >= 1; }));
    // A wake-up for the signal above may still be on its way; what must not be is one that never ends.
    pollfd fd{rig.domain->wait_fd(), POLLIN, 0};
    EXPECT_TRUE(poll_until(*rig.domain, [&] { return rig.domain->arm() && ::poll(&fd, 1, 0) == 0; }))
        << "a dead peer keeps nobody awake";
    // Neither leaves before both have looked.
    rig.domain->poll({});
    EXPECT_EQ(rig.to(1 - rig.rank()).post({&one, 1}), 1U);
    EXPECT_TRUE(sleeps_until(rig, [&] { return rig.to(1 - rig.rank()).counter(0) >= 2; }));
  });
  EXPECT_EQ(statuses[0], 0);
  EXPECT_EQ(statuses[1], 0);
  EXPECT_TRUE(WIFSIGNALED(statuses[2]));
}

// A worker that the peer forked holds its sockets open; the death is seen all the same.
TEST(ShmDeath, AForkedChildDoesNotHideIt) {
  auto statuses = run_forked(2, [](Exchange& exchange) {
    Rig rig(exchange);
    ASSERT_TRUE(rig);
    rig.barrier();
    if (rig.rank() == 1) {
      pid_t parent = getpid();
      if (fork() == 0) {
        while (getppid() == parent) usleep(1000);
        usleep(300'000);  // it lives on, with all that it inherited
        _exit(0);
      }
      kill(getpid(), SIGKILL);
    }
    expect_lost(rig, 1);
  });
  EXPECT_EQ(statuses[0], 0);
}

// What a forked child destroys is its parent's: nothing happens to it.
TEST(ShmDeath, AForkedChildThatExitsHarmsNothing) {
  auto statuses = run_forked(2, [](Exchange& exchange) {
    auto rig = std::make_unique<Rig>(exchange);
    ASSERT_TRUE(*rig);
    SharedBlock block(4096);
    auto region = rig->domain->expose(block.memory(), Access::both);
    auto keys = rig->share((*region)->key());
    pid_t child = fork();
    if (child == 0) {
      region->reset();
      rig.reset();
      _exit(make_domain().ok() ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    rig->barrier();
    int peer = 1 - rig->rank();
    EXPECT_TRUE(rig->to(peer).import(keys[size_t(peer)]).ok());
    EXPECT_EQ(rig->run(rig->to(peer), {make_signal({0, 1}, When::delivered)}), Code::ok);
    EXPECT_TRUE(poll_until(*rig->domain, [&] { return rig->to(peer).counter(0) >= 1; }));
    EXPECT_EQ(rig->to(peer).state(), State::ready);
    rig->barrier();
  });
  for (int status : statuses) EXPECT_EQ(status, 0);
}

TEST(ShmDeath, AKillInTheMidstOfPlainTransfersEndsThem) {
  for (int round = 0; round < 6; ++round) {
    auto statuses = run_forked(2, [&](Exchange& exchange) {
      Rig rig(exchange);
      ASSERT_TRUE(rig);
      Bytes memory(size_t{4} << 20);
      auto region = rig.domain->expose({memory.data(), memory.size()}, Access::both);
      auto keys = rig.share((*region)->key());
      if (rig.rank() == 1) {
        rig.barrier();
        usleep(useconds_t(100 + 700 * round));
        kill(getpid(), SIGKILL);
      }
      auto remote = rig.to(1).import(keys[1]);
      ASSERT_TRUE(remote.ok()) << remote.status().text();
      rig.barrier();
      Bytes other(memory.size());
      uint64_t posted = 0;
      bool put = round % 2 == 0;
      auto lost = [&] {
        Transfer t = put ? make_put(other.data(), other.size(), **remote, 0)
                         : make_get(other.data(), other.size(), **remote, 0);
        t.cookie = 100 + posted;
        posted += rig.to(1).post({&t, 1});
        return rig.to(1).state() == State::failed;
      };
      EXPECT_TRUE(poll_until(*rig.domain, lost, &rig.dones));
      EXPECT_TRUE(poll_until(
          *rig.domain, [&] { return rig.dones.size() == posted + 1; }, &rig.dones));
      EXPECT_EQ(rig.dones.back().cookie, 1U);
      EXPECT_EQ(rig.dones.back().status, Code::peer) << rig.to(1).error();
    });
    EXPECT_EQ(statuses[0], 0) << "round " << round;
  }
}

TEST(ShmDeath, AnOrderlyCloseSaysSo) {
  auto statuses = run_forked(2, [](Exchange& exchange) {
    Rig rig(exchange);
    ASSERT_TRUE(rig);
    rig.barrier();
    if (rig.rank() == 1) {
      rig.to(0).close();
    } else {
      EXPECT_TRUE(sleeps_until(rig, [&] { return !rig.dones.empty(); }));
      EXPECT_EQ(rig.dones.at(0).status, Code::peer);
      EXPECT_NE(rig.to(1).error().find("closed this endpoint"), std::string_view::npos) << rig.to(1).error();
    }
    rig.barrier();
  });
  for (int status : statuses) EXPECT_EQ(status, 0);
}

// A writer that puts without pause; the target closes and at once uses the memory for something else.
class CloseUnderFire : public testing::TestWithParam<bool> {};

TEST_P(CloseUnderFire, NothingLandsAfterClose) {
  const bool plain = GetParam();
  auto statuses = run_forked(2, [plain](Exchange& exchange) {
    constexpr size_t kBytes = 100'000;
    Rig rig(exchange);
    ASSERT_TRUE(rig);
    SharedBlock shared(kBytes);
    Bytes own(kBytes);
    std::byte* memory = plain ? own.data() : shared.data;
    for (int round = 0; round < 40; ++round) {
      Rig fresh(exchange);  // endpoints of their own each round
      ASSERT_TRUE(fresh);
      auto region = fresh.domain->expose({memory, kBytes}, Access::write);
      auto keys = fresh.share((*region)->key());
      if (fresh.rank() == 0) {
        while (fresh.to(1).counter(0) < uint64_t(round % 5)) fresh.domain->poll({});
        fresh.to(1).close();
        uint64_t final_count = fresh.to(1).counter(0);
        std::memset(memory, 0x77, kBytes);
        fresh.barrier();  // the writer has met the end
        for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ(memory[i], std::byte(0x77)) << "landed late";
        EXPECT_EQ(fresh.to(1).counter(0), final_count);
      } else {
        auto remote = fresh.to(0).import(keys[0]);
        ASSERT_TRUE(remote.ok());
        Bytes source(kBytes, std::byte(1));
        auto writes = [&] {
          Transfer t[2] = {make_put(source.data(), kBytes, **remote, 0, {0, 1}, When::never),
                           make_put(source.data(), 48, **remote, 8, {0, 1}, When::never)};
          fresh.to(0).post(t);
          return fresh.to(0).state() == State::failed;
        };
        EXPECT_TRUE(poll_until(*fresh.domain, writes));
        fresh.barrier();
      }
    }
  });
  for (int status : statuses) EXPECT_EQ(status, 0);
}

INSTANTIATE_TEST_SUITE_P(Shm, CloseUnderFire, testing::Bool(),
                         [](const auto& p) { return p.param ? "Plain" : "Mapped"; });

TEST(ShmDeath, ClosingReturnsWhatIsOutstandingAsAborted) {
  run_threads(2, [](Exchange& exchange) {
    Rig rig(exchange);
    ASSERT_TRUE(rig);
    SharedBlock block(size_t{1} << 20);
    auto region = rig.domain->expose(block.memory(), Access::both);
    auto keys = rig.share((*region)->key());
    int peer = 1 - rig.rank();
    auto remote = rig.to(peer).import(keys[size_t(peer)]);
    Bytes source(block.bytes);
    Transfer t[3] = {make_put(source.data(), source.size(), **remote, 0, {}, When::delivered, 10),
                     make_put(source.data(), source.size(), **remote, 0, {}, When::never, 11),
                     make_put(source.data(), 8, **remote, 0, {}, When::reusable, 12)};
    EXPECT_EQ(rig.to(peer).post(t), 3U);
    rig.to(peer).close();
    EXPECT_EQ(rig.to(peer).post(t), 0U);
    remote->reset();
    rig.endpoints[size_t(peer)].reset();  // they come though it is gone
    Done got[8];
    EXPECT_EQ(rig.domain->poll(std::span(got, 1)), 1U);
    EXPECT_EQ(rig.domain->poll(std::span(got + 1, 7)), 1U);
    EXPECT_EQ(got[0].cookie, 10U);
    EXPECT_EQ(got[1].cookie, 12U);
    EXPECT_EQ(got[0].status, Code::aborted);
    rig.barrier();
  });
}

}  // namespace
}  // namespace plait::transport::shm::test
