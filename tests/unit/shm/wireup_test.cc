// wire_up() over shared memory: all reach all, and who fails is named by everybody.
#include "transport/wireup.h"

#include <atomic>

#include "../../support/fork_exchange.h"
#include "../../support/local_exchange.h"
#include "rig.h"

namespace plait::transport::shm::test {
namespace {

using transport::test::LocalExchange;
using transport::test::LocalWorld;
using transport::test::run_forked;
using transport::test::run_threads;

void everybody_signals_everybody(Exchange& exchange) {
  Rig rig(exchange);
  ASSERT_TRUE(rig);
  for (int r = 0; r < exchange.size(); ++r) {
    if (r == rig.rank()) {
      EXPECT_EQ(rig.endpoints[size_t(r)], nullptr);
      continue;
    }
    const Transfer one = make_signal({3, uint16_t(rig.rank() + 1)});
    EXPECT_EQ(rig.to(r).post({&one, 1}), 1U);
  }
  auto all_came = [&] {
    for (int r = 0; r < exchange.size(); ++r) {
      if (r != rig.rank() && rig.to(r).counter(3).load() != uint64_t(r + 1)) return false;
    }
    return true;
  };
  EXPECT_TRUE(poll_until(*rig.domain, all_came));
  rig.barrier();
}

TEST(Wireup, Threads) { run_threads(5, everybody_signals_everybody); }
TEST(Wireup, Processes) {
  for (int status : run_forked(5, everybody_signals_everybody)) EXPECT_EQ(status, 0);
}
TEST(Wireup, OneRankAlone) {
  run_threads(1, [](Exchange& exchange) {
    auto domain = make_domain();
    auto none = wire_up(**domain, exchange, 1, in_time());
    ASSERT_TRUE(none.ok());
    EXPECT_EQ(none->size(), 1U);
  });
}

TEST(Wireup, ARankOfAnotherHostIsNamedByAll) {
  run_threads(3, [](Exchange& exchange) {
    auto domain = make_domain({.host_id = exchange.rank() == 2 ? "elsewhere" : "here"});
    ASSERT_TRUE(domain.ok());
    auto wired = wire_up(**domain, exchange, 1, in_time());
    ASSERT_FALSE(wired.ok());
    EXPECT_EQ(wired.status().code(), Code::unsupported) << wired.status().text();
    EXPECT_NE(wired.status().text().find("rank 2"), std::string_view::npos) << wired.status().text();
  });
}

TEST(Wireup, ARankThatCannotOpenIsNamedByAll) {
  run_threads(3, [](Exchange& exchange) {
    auto domain = make_domain();
    auto wired = wire_up(**domain, exchange, exchange.rank() == 1 ? 1000 : 1, in_time());
    ASSERT_FALSE(wired.ok());
    EXPECT_EQ(wired.status().code(), Code::invalid) << wired.status().text();
    if (exchange.rank() != 1) {
      EXPECT_NE(wired.status().text().find("rank 1"), std::string_view::npos) << wired.status().text();
    }
  });
}

// An exchange whose last round rank 1 never comes to, and its tickets lead nowhere.
TEST(Wireup, ARankThatDoesNotAnswerIsNamedAtTheDeadline) {
  run_threads(2, [](Exchange& exchange) {
    auto domain = make_domain();
    if (exchange.rank() == 1) {
      // Says the right things, but connects to nobody.
      Bytes bytes;
      append(bytes, int32_t(0));
      append(bytes, uint32_t((*domain)->identity().size()));
      bytes.insert(bytes.end(), (*domain)->identity().begin(), (*domain)->identity().end());
      auto endpoint = (*domain)->open(1, 0);
      append(bytes, uint32_t((*endpoint)->ticket().size()));
      bytes.insert(bytes.end(), (*endpoint)->ticket().begin(), (*endpoint)->ticket().end());
      append(bytes, uint32_t(0));
      ASSERT_TRUE(exchange.allgather(bytes, in_time()).ok());
      (void)exchange.allgather({}, in_time());
      return;
    }
    auto wired = wire_up(**domain, exchange, 1, {Deadline::in_ms(200), nullptr});
    ASSERT_FALSE(wired.ok());
    EXPECT_EQ(wired.status().code(), Code::timeout);
    EXPECT_NE(wired.status().text().find("rank 1"), std::string_view::npos) << wired.status().text();
    EXPECT_NE(wired.status().text().find("connecting"), std::string_view::npos) << wired.status().text();
    (void)exchange.allgather({}, in_time());
  });
}

TEST(Wireup, AnAbortEndsIt) {
  LocalWorld world(2);
  LocalExchange alone(world, 0);
  std::atomic<bool> abort{false};
  std::thread setter([&] { abort.store(true); });
  auto domain = make_domain();
  auto wired = wire_up(**domain, alone, 1, {Deadline::in_ms(kLimitMs), &abort});
  setter.join();
  ASSERT_FALSE(wired.ok());
  EXPECT_EQ(wired.status().code(), Code::aborted);
}

TEST(Wireup, DamagedMessagesAreRefused) {
  for (size_t cut = 0; cut < 60; cut += 7) {
    run_threads(2, [cut](Exchange& exchange) {
      if (exchange.rank() == 1) {
        Bytes noise(cut, std::byte(cut % 2 == 0 ? 0 : 0xff));
        if (cut >= 4) std::memset(noise.data(), 0, 4);
        (void)exchange.allgather(noise, in_time());
        (void)exchange.allgather({}, in_time());
        return;
      }
      auto domain = make_domain();
      auto wired = wire_up(**domain, exchange, 1, in_time());
      EXPECT_FALSE(wired.ok());
      if (cut < 4) (void)exchange.allgather({}, in_time());
    });
  }
}

}  // namespace
}  // namespace plait::transport::shm::test
