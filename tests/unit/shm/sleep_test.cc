// Sleeping and waking between processes: a sleep that lasts to its deadline is a lost wake.
#include <atomic>

#include "../../support/fork_exchange.h"
#include "../../support/local_exchange.h"
#include "base/wait.h"
#include "rig.h"

namespace plait::transport::shm::test {
namespace {

using transport::test::run_forked;
using transport::test::run_threads;

bool sleep_until(Domain& domain, const std::function<bool()>& done) {
  Deadline deadline = Deadline::in_ms(kLimitMs);
  for (;;) {
    domain.poll({});
    if (done()) return true;
    if (deadline.passed()) return false;
    if (!domain.arm()) continue;
    if (done()) return true;
    pollfd fd{domain.wait_fd(), POLLIN, 0};
    ::poll(&fd, 1, fd.fd < 0 ? 1 : deadline.left_ms());
  }
}

// Now and then later than the other goes to sleep, now and then earlier.
void dawdle(uint64_t i) {
  for (uint64_t n = 0; n < i % 5; ++n) sched_yield();
  for (uint64_t n = 0; n < (i * 37) % 1000; ++n) cpu_relax();
}

void ping_pong_by_counters(Exchange& exchange) {
  Rig rig(exchange);
  ASSERT_TRUE(rig);
  Endpoint& peer = rig.to(1 - rig.rank());
  const Transfer one = make_signal({0, 1});
  for (uint64_t i = 1; i <= 500; ++i) {
    if (rig.rank() == 0) peer.post({&one, 1});
    ASSERT_TRUE(sleep_until(*rig.domain, [&] { return peer.counter(0).load() >= i; })) << i;
    dawdle(i + uint64_t(rig.rank()));
    if (rig.rank() == 1) peer.post({&one, 1});
  }
  rig.barrier();
}

// As the mailbox does: plain stores to mapped memory, then notify().
void ping_pong_by_words(Exchange& exchange) {
  Rig rig(exchange);
  ASSERT_TRUE(rig);
  Endpoint& peer = rig.to(1 - rig.rank());
  SharedBlock block(4096);
  auto region = rig.domain->expose(block.memory(), Access::both);
  auto keys = rig.share((*region)->key());
  auto remote = peer.import(keys[size_t(1 - rig.rank())]);
  ASSERT_TRUE(remote.ok());
  std::atomic_ref<uint64_t> mine(*reinterpret_cast<uint64_t*>(block.data));
  std::atomic_ref<uint64_t> theirs(*reinterpret_cast<uint64_t*>((*remote)->mapped()));
  auto say = [&](uint64_t i) {
    theirs.store(i, std::memory_order_release);
    peer.notify();
  };
  for (uint64_t i = 1; i <= 500; ++i) {
    if (rig.rank() == 0) say(i);
    ASSERT_TRUE(sleep_until(*rig.domain, [&] { return mine.load(std::memory_order_acquire) >= i; })) << i;
    dawdle(i + uint64_t(rig.rank()));
    if (rig.rank() == 1) say(i);
  }
  rig.barrier();
}

// One wakes many: each of three signals a fourth at its own pace, which sleeps until all have.
void many_wake_one(Exchange& exchange) {
  Rig rig(exchange);
  ASSERT_TRUE(rig);
  constexpr uint64_t kRounds = 500;
  const Transfer one = make_signal({0, 1});
  auto to_all = [&] {
    for (int r = 1; r < exchange.size(); ++r) ASSERT_EQ(rig.to(r).post({&one, 1}), 1U);
  };
  for (uint64_t i = 1; i <= kRounds; ++i) {
    if (rig.rank() != 0) {
      dawdle(i * uint64_t(rig.rank()));
      ASSERT_EQ(rig.to(0).post({&one, 1}), 1U);
      ASSERT_TRUE(sleep_until(*rig.domain, [&] { return rig.to(0).counter(0).load() >= i; })) << i;
      continue;
    }
    ASSERT_TRUE(sleep_until(*rig.domain, [&] {
      for (int r = 1; r < exchange.size(); ++r) {
        if (rig.to(r).counter(0).load() < i) return false;
      }
      return true;
    })) << i;
    to_all();
  }
  rig.barrier();
}

TEST(ShmSleep, ProcessesByCounters) {
  for (int status : run_forked(2, ping_pong_by_counters)) EXPECT_EQ(status, 0);
}
TEST(ShmSleep, ProcessesByMappedWords) {
  for (int status : run_forked(2, ping_pong_by_words)) EXPECT_EQ(status, 0);
}
TEST(ShmSleep, ManyProcesses) {
  for (int status : run_forked(4, many_wake_one)) EXPECT_EQ(status, 0);
}
TEST(ShmSleep, ThreadsByCounters) { run_threads(2, ping_pong_by_counters); }
TEST(ShmSleep, ThreadsByMappedWords) { run_threads(2, ping_pong_by_words); }
TEST(ShmSleep, ManyThreads) { run_threads(4, many_wake_one); }

}  // namespace
}  // namespace plait::transport::shm::test
