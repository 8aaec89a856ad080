// Rule 7: sleeping loses no wake. Whoever waits polls, looks, arms, looks once more, and only then sleeps; a
// sleep that lasts until the deadline was a lost wake.
#include <poll.h>

#include <thread>

#include "base/wait.h"
#include "conformance/fixture.h"

namespace plait::transport::conformance {
namespace {

// Waits in the kernel until `holds`, which is asked between polls of `own` only. False at the deadline.
bool sleep_until(Rank& own, const std::function<bool()>& holds) {
  Deadline deadline = Deadline::in_ms(kPatienceMs);
  int fd = own.domain->wait_fd();
  for (;;) {
    own.poll();
    if (holds()) return true;
    if (deadline.passed()) return false;
    if (!own.domain->arm()) continue;
    if (holds()) return true;  // a mapped store between the look and arm()
    pollfd p{fd, POLLIN, 0};
    ::poll(&p, 1, fd < 0 ? 1 : deadline.left_ms());
  }
}

// Shifts the two threads against each other, so that the store meets every point of the other's way to sleep.
void dawdle(uint64_t i) {
  for (uint64_t n = 0; n < i * 37 % 300; ++n) cpu_relax();
}

std::atomic_ref<uint64_t> word_at(std::byte* at) {
  return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(at));
}

TEST_P(Conformance, Rule07_SignalsWake) {
  if (rank(0).domain->wait_fd() < 0) GTEST_SKIP() << "this back end has no descriptor to sleep on";
  Link& l = link(0, 1);
  constexpr uint64_t kRounds = 600;
  std::atomic<bool> lost{false};
  auto turn = [&](Side& side, uint64_t first) {
    Rank& own = rank(side.rank);
    Transfer one = signal_only({0, 1});
    for (uint64_t i = 1; i <= kRounds && !lost.load(); ++i) {
      if (first == 0 && !sleep_until(own, [&] { return side.end->post({&one, 1}) == 1; })) lost.store(true);
      if (!sleep_until(own, [&] { return side.end->counter(0) >= i; })) lost.store(true);
      dawdle(i + first);
      if (first == 1 && !sleep_until(own, [&] { return side.end->post({&one, 1}) == 1; })) lost.store(true);
    }
    // What was posted last must still move.
    for (Deadline end = Deadline::in_ms(kPatienceMs); !own.domain->arm() && !end.passed();) own.poll();
  };
  std::thread peer([&] { turn(l.b, 1); });
  turn(l.a, 0);
  peer.join();
  EXPECT_FALSE(lost.load()) << "a sleeper was not woken";
}

TEST_P(Conformance, Rule07_MappedStoresWakeWithNotify) {
  if (rank(0).domain->wait_fd() < 0) GTEST_SKIP() << "this back end has no descriptor to sleep on";
  Link& l = link(0, 1);
  Buffer& box_a = buffer(0, 64, Access::both);
  Buffer& box_b = buffer(1, 64, Access::both);
  RemoteRegion* to_b = l.a.import(box_b);
  RemoteRegion* to_a = l.b.import(box_a);
  ASSERT_TRUE(to_a != nullptr && to_b != nullptr);
  if (to_b->mapped() == nullptr || to_a->mapped() == nullptr) GTEST_SKIP() << "this back end maps no memory";
  constexpr uint64_t kRounds = 600;
  std::atomic<bool> lost{false};
  auto turn = [&](Side& side, std::byte* mine, std::byte* theirs, uint64_t second) {
    for (uint64_t i = 1; i <= kRounds && !lost.load(); ++i) {
      if (second == 0) {
        word_at(theirs).store(i, std::memory_order_seq_cst);
        side.end->notify();
      }
      auto came = [&] { return word_at(mine).load(std::memory_order_seq_cst) >= i; };
      if (!sleep_until(rank(side.rank), came)) lost.store(true);
      dawdle(i + second);
      if (second == 1) {
        word_at(theirs).store(i, std::memory_order_seq_cst);
        side.end->notify();
      }
    }
  };
  std::thread peer([&] { turn(l.b, box_b.data(), to_a->mapped(), 1); });
  turn(l.a, box_a.data(), to_b->mapped(), 0);
  peer.join();
  EXPECT_FALSE(lost.load()) << "a sleeper was not woken";
}

TEST_P(Conformance, Rule07_DonesWake) {
  if (rank(0).domain->wait_fd() < 0) GTEST_SKIP() << "this back end has no descriptor to sleep on";
  Link& l = link(0, 1);
  constexpr uint64_t kRounds = 300;
  std::atomic<bool> stop{false};
  std::thread peer([&] {
    for (uint64_t i = 0; !stop.load(std::memory_order_relaxed); ++i) {
      rank(1).poll();
      dawdle(i);
      std::this_thread::yield();
    }
  });
  bool fine = true;
  for (uint64_t i = 1; i <= kRounds && fine; ++i) {
    Transfer one = signal_only({0, 1}, When::delivered, i);
    fine = sleep_until(rank(0),
                       [&] {
                         return l.a.end->post({&one, 1}) == 1;
                       }) &&
           sleep_until(rank(0), [&] { return rank(0).dones.size() == i; });
  }
  stop.store(true);
  peer.join();
  EXPECT_TRUE(fine) << "a sleeper was not woken";
}

// Who posts without wanting Dones and finds no room may sleep too: room is something that happens.
TEST_P(Conformance, Rule07_RoomInPostWakes) {
  if (rank(0).domain->wait_fd() < 0) GTEST_SKIP() << "this back end has no descriptor to sleep on";
  Link& l = link(0, 1);
  size_t many = size_t(caps().depth) * 4 + size_t(std::min<uint16_t>(caps().signals, 5000)) * 2;
  std::atomic<bool> stop{false};
  std::thread peer([&] {
    for (uint64_t i = 0; !stop.load(std::memory_order_relaxed) && l.b.end->counter(0) < many; ++i) {
      rank(1).poll();
      dawdle(i);
      std::this_thread::yield();
    }
  });
  bool fine = true;
  Transfer one = signal_only({0, 1});
  for (size_t i = 0; i < many && fine; ++i) {
    fine = sleep_until(rank(0), [&] { return l.a.end->post({&one, 1}) == 1; });
  }
  EXPECT_TRUE(fine) << "a sleeper was not woken";
  Deadline deadline = Deadline::in_ms(kPatienceMs);
  while (fine && l.b.end->counter(0) < many && !deadline.passed()) rank(0).poll();
  stop.store(true);
  peer.join();
  EXPECT_EQ(l.b.end->counter(0), many);
}

TEST_P(Conformance, Rule07_DeathWakes) {
  if (rank(0).domain->wait_fd() < 0) GTEST_SKIP() << "this back end has no descriptor to sleep on";
  if (!caps().detects_death) GTEST_SKIP() << "this back end does not detect death: the runtime does";
  Link& l = link(0, 1);
  uint64_t cookie = l.a.cookie;
  bool woken = false;
  std::thread sleeper([&] { woken = sleep_until(rank(0), [&] { return rank(0).count(cookie) != 0; }); });
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  kill(1);
  sleeper.join();
  EXPECT_TRUE(woken);
  EXPECT_EQ(rank(0).oks(cookie), 0);
}

// A descriptor that was readable once becomes quiet again when all has been polled, or nobody would ever
// sleep.
TEST_P(Conformance, Rule07_AnIdleSleepIsQuiet) {
  int fd = rank(0).domain->wait_fd();
  if (fd < 0) GTEST_SKIP() << "this back end has no descriptor to sleep on";
  Link& l = link(0, 1);
  for (uint64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(pump([&] { return rank(0).domain->arm(); }));
    ASSERT_TRUE(post_one(l.b, signal_only({0, 1})));
    for (int n = 0; n < 20; ++n) rank(1).poll();  // rank 0 is armed, and is rung
    ASSERT_TRUE(pump([&] { return l.a.end->counter(0) == i; }));
    bool slept = pump([&] {
      if (!rank(0).domain->arm()) return false;
      pollfd p{fd, POLLIN, 0};
      return ::poll(&p, 1, 0) == 0;
    });
    EXPECT_TRUE(slept) << "it never becomes quiet";
  }
}

}  // namespace
}  // namespace plait::transport::conformance
