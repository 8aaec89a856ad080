// Who dies, who closes, who is merely busy: what the others learn of it.
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <csignal>

#include "../../support/fork_exchange.h"
#include "base/file.h"
#include "rig.h"
#include "transport/wireup.h"

namespace plait::transport::tcp::test {
namespace {

using transport::test::run_forked;

// A rank of a forked world, with 64 MiB that the others may reach.
struct Forked {
  static constexpr size_t kBytes = size_t{64} << 20;
  Exchange& exchange;
  std::unique_ptr<Domain> domain = make();
  std::vector<std::unique_ptr<Endpoint>> ends;
  Bytes memory = Bytes(kBytes);
  std::unique_ptr<Region> region;
  std::vector<Bytes> keys;
  std::vector<Done> dones;

  explicit Forked(Exchange& among) : exchange(among) {
    const Bounds bounds{Deadline::in_ms(kLimitMs), nullptr};
    auto wired = wire_up(*domain, exchange, 2, bounds);
    EXPECT_TRUE(wired.ok()) << wired.status().text();
    ends = std::move(*wired);
    region = domain->expose({memory.data(), kBytes}, Access::both).value();
    keys = exchange.allgather(region->key(), bounds).value();
  }
  void barrier() { (void)exchange.allgather({}, {Deadline::in_ms(kLimitMs), nullptr}); }
  bool until(const std::function<bool()>& done, int64_t limit_ms = kLimitMs) {
    for (Deadline deadline = Deadline::in_ms(limit_ms);;) {
      Done got[16];
      dones.insert(dones.end(), got, got + domain->poll(got));
      if (done()) return true;
      if (deadline.passed()) return false;
    }
  }
  bool sleeps_until(const std::function<bool()>& done) {
    for (Deadline deadline = Deadline::in_ms(kLimitMs); !until(done, 0);) {
      if (deadline.passed()) return false;
      if (!domain->arm()) continue;
      pollfd fd{domain->wait_fd(), POLLIN, 0};
      ::poll(&fd, 1, deadline.left_ms());
    }
    return true;
  }
};

TEST(TcpDeath, AKillInTheMidstOfALargePutIsToldAtOnce) {
  for (int round = 0; round < 4; ++round) {
    auto statuses = run_forked(2, [&](Exchange& exchange) {
      Forked me(exchange);
      Endpoint& peer = *me.ends[size_t(1 - exchange.rank())];
      if (exchange.rank() == 1) {
        const int64_t start = now_ns();
        me.until([&] { return now_ns() - start > (1 + round * 3) * 1'000'000; });
        kill(getpid(), SIGKILL);
      }
      Bytes source(Forked::kBytes, std::byte{1});
      auto remote = peer.import(me.keys[1]).value();
      Transfer put = make_put(source.data(), source.size(), *remote, 0, {1, 1}, When::delivered, 50);
      Transfer get = make_get(source.data(), source.size(), *remote, 0, 51);
      const bool reads = round % 2 == 1;
      ASSERT_EQ(peer.post({reads ? &get : &put, 1}), 1U);
      const int64_t start = now_ns();
      ASSERT_TRUE(me.sleeps_until([&] { return me.dones.size() == 2; }));
      EXPECT_LT(now_ns() - start, 2'000'000'000);
      EXPECT_EQ(me.dones[0].status, Code::peer);
      EXPECT_EQ(me.dones[1].status, Code::peer);
      EXPECT_EQ(me.dones[1].cookie, 1U) << "the endpoint's own";
      EXPECT_EQ(peer.state(), State::failed);
      EXPECT_NE(peer.error().find("exited or was killed"), std::string_view::npos) << peer.error();
      EXPECT_NE(peer.error().find("127.0.0.1"), std::string_view::npos) << peer.error();
      EXPECT_NE(peer.error().find("process "), std::string_view::npos) << peer.error();
      for (int i = 0; i < 1000; ++i) me.until([] { return true; });
      EXPECT_EQ(me.dones.size(), 2U);
      ASSERT_TRUE(me.domain->arm());
      pollfd fd{me.domain->wait_fd(), POLLIN, 0};
      EXPECT_EQ(::poll(&fd, 1, 0), 0) << "a dead peer keeps nobody awake";
    });
    EXPECT_EQ(statuses[0], 0) << "round " << round;
    EXPECT_TRUE(WIFSIGNALED(statuses[1]));
  }
}

// What the peer sent before it died is taken first.
TEST(TcpDeath, LastWordsAreHeard) {
  auto statuses = run_forked(2, [](Exchange& exchange) {
    Forked me(exchange);
    Endpoint& peer = *me.ends[size_t(1 - exchange.rank())];
    if (exchange.rank() == 1) {
      Bytes source(30'000, std::byte{1});
      auto remote = peer.import(me.keys[0]).value();
      const Transfer last[] = {make_put(source.data(), source.size(), *remote, 0, {1, 1}, When::reusable, 1),
                               make_signal({0, 5})};
      EXPECT_EQ(peer.post(last), 2U);
      EXPECT_TRUE(me.until([&] { return me.dones.size() == 1; }));
      kill(getpid(), SIGKILL);
    }
    usleep(100'000);  // all of it has come by now
    ASSERT_TRUE(me.until([&] { return peer.state() == State::failed; }));
    EXPECT_EQ(peer.counter(0), 5U);
    EXPECT_EQ(peer.counter(1), 1U);
  });
  EXPECT_EQ(statuses[0], 0);
}

TEST(TcpDeath, AnOrderlyCloseSaysSo) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  pair.a.end->close();
  ASSERT_TRUE(pair.until([&] { return pair.b.count(pair.b.cookie) == 1; }));
  EXPECT_EQ(pair.b.code(pair.b.cookie), Code::peer);
  EXPECT_NE(pair.b.end->error().find("closed this endpoint"), std::string_view::npos) << pair.b.end->error();
  EXPECT_EQ(pair.a.count(pair.a.cookie), 0);
}

// The peer computes and does not poll; the socket is full. That is no death, however long it takes: the
// kernel's own timeout for what is not acknowledged would take it for one after 3 s.
TEST(TcpDeath, APeerThatIsBusyIsNotDead) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  Window window(pair.b, pair.a, size_t{32} << 20);
  Bytes source(window.bytes.size());
  fill(source, 1);
  Transfer puts[2];
  for (uint16_t lane = 0; lane < 2; ++lane)
    puts[lane] = make_put(source.data(), source.size(), *window.remote, 0, {lane, 1}, When::delivered, lane);
  ASSERT_EQ(pair.a.end->post(puts), 2U);
  for (Deadline busy = Deadline::in_ms(4500); !busy.passed(); usleep(1000)) pair.a.poll();
  EXPECT_EQ(pair.a.end->state(), State::ready) << pair.a.end->error();
  EXPECT_TRUE(pair.until([&] { return pair.a.count(0) + pair.a.count(1) == 2; })) << pair.a.end->error();
  EXPECT_EQ(pair.a.code(0), Code::ok);
  EXPECT_EQ(pair.a.code(1), Code::ok);
  EXPECT_EQ(window.bytes, source);
}

TEST(TcpDeath, ClosingReturnsWhatIsOutstandingAsAborted) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  auto window = std::make_unique<Window>(pair.b, pair.a, size_t{4} << 20);
  Bytes source(window->bytes.size());
  Transfer t[3] = {make_put(source.data(), source.size(), *window->remote, 0, {}, When::delivered, 10),
                   make_put(source.data(), source.size(), *window->remote, 0, {}, When::never, 11),
                   make_get(source.data(), source.size(), *window->remote, 0, 12)};
  EXPECT_EQ(pair.a.end->post(t), 3U);
  pair.a.end->close();
  EXPECT_EQ(pair.a.end->post(t), 0U);
  window->remote.reset();
  pair.a.end.reset();  // they come though it is gone
  for (int i = 0; i < 10; ++i) pair.a.poll();
  EXPECT_EQ(pair.a.dones.size(), 2U);
  EXPECT_EQ(pair.a.code(10), Code::aborted);
  EXPECT_EQ(pair.a.code(12), Code::aborted);
}

constexpr int kNotAllowed = 77;

// As when a cable is pulled: no word comes, neither from the peer nor from its kernel. What waits to be sent
// does not delay the news.
void cut_the_link() {
  if (unshare(CLONE_NEWNET) != 0) _exit(kNotAllowed);
  const Fd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq lo{};
  std::strcpy(lo.ifr_name, "lo");
  lo.ifr_flags = IFF_UP;
  ASSERT_EQ(ioctl(any.get(), SIOCSIFFLAGS, &lo), 0);
  Pair pair;
  ASSERT_TRUE(pair.connect());
  Window window(pair.b, pair.a, size_t{32} << 20);
  Bytes source(window.bytes.size());
  const Transfer put = make_put(source.data(), source.size(), *window.remote, 0, {1, 1}, When::delivered, 5);
  ASSERT_EQ(pair.a.end->post({&put, 1}), 1U);
  for (int i = 0; i < 20; ++i) pair.a.poll();
  lo.ifr_flags = 0;
  ASSERT_EQ(ioctl(any.get(), SIOCSIFFLAGS, &lo), 0);
  const int64_t start = now_ns();
  EXPECT_TRUE(
      pair.until([&] { return pair.a.count(pair.a.cookie) == 1 && pair.b.count(pair.b.cookie) == 1; }));
  EXPECT_LT(now_ns() - start, 8'000'000'000);
  EXPECT_EQ(pair.a.code(5), Code::peer);
  EXPECT_NE(pair.a.end->error().find("link is cut"), std::string_view::npos) << pair.a.end->error();
  EXPECT_NE(pair.b.end->error().find("link is cut"), std::string_view::npos) << pair.b.end->error();
}

TEST(TcpDeath, ALinkThatIsCutIsNoticedInSeconds) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    cut_the_link();
    std::fflush(nullptr);
    _exit(HasFailure() ? 1 : 0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotAllowed)
    GTEST_SKIP() << "no network namespace of its own";
  EXPECT_EQ(status, 0);
}

// Connecting to who has gone, or goes meanwhile: whichever side dials, somebody says so.
TEST(TcpDeath, WhileConnecting) {
  for (int round = 0; round < 24; ++round) {
    SCOPED_TRACE(round);
    Side a(1);
    auto b = std::make_unique<Side>(2);
    const Bytes ticket(b->end->ticket().begin(), b->end->ticket().end());
    if (round % 4 == 0) b.reset();
    if (round % 4 == 1) b->end.reset();
    (void)a.end->connect(ticket);
    if (round % 4 == 2) {
      ASSERT_TRUE(b->end->connect(a.end->ticket()).ok());
      for (int i = 0; i < round; ++i) a.poll(), b->poll();
      b.reset();
    }
    for (Deadline deadline = Deadline::in_ms(kLimitMs); a.count(1) == 0 && !deadline.passed();) {
      a.poll();
      if (b != nullptr) b->poll();
      if (round % 4 == 3 && b != nullptr && now_ns() % 7 == 0) b->end->close();
    }
    EXPECT_EQ(a.code(1), Code::peer) << a.end->error();
    EXPECT_EQ(a.end->state(), State::failed);
  }
}

}  // namespace
}  // namespace plait::transport::tcp::test
