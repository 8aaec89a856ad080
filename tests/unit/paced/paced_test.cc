// What a rate changes: how soon post() has room. All else is the conformance suite's.
#include "transport/paced/paced.h"

#include <poll.h>
#include <unistd.h>

#include "transport/hooks/wrap.h"
#include "unit/hooks/pair.h"

namespace plait::transport::paced {
namespace {

struct Paced final : hooks::WrappedDomain {
  Paced(std::unique_ptr<Domain> inner, const Options& options)
      : WrappedDomain(make_domain(std::move(inner), options).value()) {}
  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) override {
    return inner().open(counters, cookie);
  }
};
using PacedPair = hooks::Pair<Paced>;

fake::FakeOptions unmapped() {
  fake::FakeOptions options;
  options.mapped = false;
  return options;
}

TEST(Paced, KeepsToItsRate) {
  constexpr uint64_t kRate = 4'000'000, kBurst = 16'384, kBytes = 8192, kPuts = 40;
  const int64_t begin = now_ns();
  PacedPair p(unmapped(), Options{kRate, kBurst});
  for (uint64_t i = 0; i < kPuts; i++) ASSERT_TRUE(p.post(p.put(kBytes, {0, 1}, When::never, i)));
  // The last one goes as soon as those before it are paid for.
  const double least_ns = 1e9 * double((kPuts - 1) * kBytes - kBurst) / double(kRate);
  EXPECT_GE(double(now_ns() - begin), least_ns);
  EXPECT_TRUE(p.pump([&] { return p.b.end->counter(0).load() == kPuts; }));
}

TEST(Paced, WhatIsShortPasses) {
  PacedPair p(unmapped(), Options{1, 1});
  ASSERT_TRUE(p.post(p.put(8192, {0, 1}, When::never, 1)));  // a debt of two hours
  const Transfer large = p.put(kShortBytes + 1, {0, 1}, When::never, 2),
                 small = p.put(kShortBytes, {0, 1}, When::never, 3), none = p.put(0, {1, 1}, When::never, 4);
  EXPECT_EQ(p.a.end->post({&large, 1}), 0u);
  const Transfer mixed[] = {small, none, large, none};
  EXPECT_EQ(p.a.end->post(mixed), 2u);
  EXPECT_TRUE(p.pump([&] { return p.b.end->counter(0).load() == 2 && p.b.end->counter(1).load() == 1; }));
}

TEST(Paced, GetsCountToo) {
  PacedPair p(unmapped(), Options{1, 1});
  ASSERT_TRUE(p.post(p.get(8192, 1)));
  const Transfer put = p.put(8192, {0, 1}, When::never, 2), get = p.get(8192, 3);
  EXPECT_EQ(p.a.end->post({&put, 1}), 0u);
  EXPECT_EQ(p.a.end->post({&get, 1}), 0u);
  EXPECT_TRUE(p.pump([&] { return p.a.done(1) == Code::ok; }));
}

TEST(Paced, WhatTheDomainDidNotTakeIsNotPaidFor) {
  fake::FakeOptions options = unmapped();
  options.capabilities.depth = 2;
  PacedPair p(options, Options{1, 100'000});
  const Transfer t = p.put(8192, {0, 1}, When::delivered, 1);
  const Transfer four[] = {t, t, t, t};
  EXPECT_EQ(p.a.end->post(four), 2u);
  for (int i = 0; i < 1000; i++) EXPECT_EQ(p.a.end->post(four), 0u);
  ASSERT_TRUE(p.pump([&] { return p.a.dones.size() == 2; }));
  EXPECT_EQ(p.a.end->post(four), 2u);
}

TEST(Paced, WhoSleepsIsWokenWhenThereAreTokens) {
  PacedPair p(unmapped(), Options{400'000, 1});
  ASSERT_TRUE(p.post(p.put(8192, {0, 1}, When::never, 1)));  // a debt of 20 ms
  const Transfer next = p.put(8192, {0, 1}, When::never, 2);
  p.idle();
  for (int round = 0; round < 3; round++) {
    const Deadline deadline = Deadline::in_ms(20'000);
    while (p.a.end->post({&next, 1}) == 0) {
      ASSERT_FALSE(deadline.passed());
      if (p.a.domain->arm()) {
        pollfd fd{p.a.domain->wait_fd(), POLLIN, 0};
        ASSERT_EQ(poll(&fd, 1, 20'000), 1) << "nobody was woken";
      }
      p.a.poll();
    }
    p.idle();
  }
  // Where nobody waits for tokens, nobody is woken for them: the debt is paid when this is over.
  usleep(100'000);
  while (!p.a.domain->arm()) p.a.poll();
  pollfd fd{p.a.domain->wait_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&fd, 1, 60), 0);
}

TEST(Paced, TellsOfItsRateAsBandwidth) {
  fake::FakeNetwork network;
  fake::FakeOptions options;
  options.capabilities.cost.bandwidth_Bps = 1e9;
  const auto bandwidth = [&](uint64_t rate) {
    return make_domain(network.make_domain("a", options), {.rate_Bps = rate})
        .value()
        ->capabilities()
        .cost.bandwidth_Bps;
  };
  EXPECT_EQ(bandwidth(1'000'000), 1e6);
  EXPECT_EQ(bandwidth(5'000'000'000), 1e9);
  options.capabilities.cost.bandwidth_Bps = 0;
  EXPECT_EQ(bandwidth(5'000'000'000), 5e9);
  EXPECT_EQ(make_domain(network.make_domain("a", options), {.rate_Bps = 0}).status().code(), Code::invalid);
}

}  // namespace
}  // namespace plait::transport::paced
