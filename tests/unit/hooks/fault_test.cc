#include "transport/hooks/fault.h"

#include "unit/hooks/pair.h"

namespace plait::transport::hooks {
namespace {

using FaultPair = Pair<FaultDomain>;

FaultPlan nth(Fault fault, uint64_t n) { return {.seed = 1, .rules = {{.fault = fault, .nth = n}}}; }

// What the plan hits is hit and the next transfer is not, whatever the back end can do: little depth, nothing
// inline.
class FaultTest : public testing::TestWithParam<bool> {
 protected:
  static fake::FakeOptions options() {
    fake::FakeOptions o;
    if (!GetParam()) return o;
    o.mapped = false;
    o.staged_bytes = 0;
    o.capabilities.depth = 2;
    o.capabilities.inline_bytes = 0;
    o.capabilities.local_needs_region = true;
    return o;
  }
};

TEST_P(FaultTest, DropLosesOne) {
  FaultPair p(options(), nth(Fault::drop, 2));
  for (uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(p.post(p.put(64, {0, 1}, When::reusable, i)));
  ASSERT_TRUE(p.pump([&] { return p.a.dones.size() == 3 && p.b.end->counter(0) == 2; }));
  p.idle();
  EXPECT_EQ(p.b.end->counter(0), 2u);
  EXPECT_EQ(p.a.done(2), Code::ok) << "reusable says nothing about landing";
  EXPECT_EQ(p.hook->hits(Fault::drop), 1u);
}

TEST_P(FaultTest, ADroppedDeliveredComesBackAtTheEnd) {
  FaultPair p(options(), nth(Fault::drop, 1));
  ASSERT_TRUE(p.post(p.put(64, {0, 1}, When::delivered, 1)));
  p.idle();
  EXPECT_TRUE(p.a.dones.empty());
  p.a.end->close();
  p.idle();
  EXPECT_EQ(p.a.done(1), Code::aborted);
  EXPECT_EQ(p.b.end->counter(0), 0u);
}

TEST_P(FaultTest, FailGivesAnErrorAndSendsNothing) {
  FaultPair p(options(), nth(Fault::fail, 2));
  for (uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(p.post(p.put(64, {0, 1}, When::delivered, i)));
  ASSERT_TRUE(p.pump([&] { return p.a.dones.size() == 3; }));
  EXPECT_EQ(p.a.done(1), Code::ok);
  EXPECT_EQ(p.a.done(2), Code::peer);
  EXPECT_EQ(p.a.done(3), Code::ok);
  p.idle();
  EXPECT_EQ(p.b.end->counter(0), 2u);
  EXPECT_EQ(p.a.end->state(), State::ready);
}

TEST_P(FaultTest, FailOnLetsNoLaterSignalThrough) {
  FaultPair p(options(), nth(Fault::fail_on, 2));
  for (uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(p.post(p.put(64, {0, 1}, When::delivered, i)));
  ASSERT_TRUE(p.pump([&] { return p.a.dones.size() == 3; }));
  EXPECT_EQ(p.a.done(1), Code::ok);
  EXPECT_EQ(p.a.done(2), Code::peer);
  EXPECT_EQ(p.a.done(3), Code::peer);
  p.idle();
  EXPECT_EQ(p.b.end->counter(0), 1u);
}

TEST_P(FaultTest, FailingANeverFailsTheEndpoint) {
  FaultPair p(options(), nth(Fault::fail, 1));
  Transfer t = p.put(64, {0, 1}, When::never, 1);
  EXPECT_EQ(p.a.end->post({&t, 1}), 0u);
  p.idle();
  EXPECT_EQ(p.a.end->state(), State::failed);
  EXPECT_EQ(p.a.done(FaultPair::kEndCookie), Code::peer);
}

TEST_P(FaultTest, LostAcksLandAllTheSame) {
  FaultPair p(options(), nth(Fault::lose_ack, 1));
  p.a.memory[5] = std::byte{42};
  ASSERT_TRUE(p.post(p.put(64, {0, 1}, When::delivered, 1)));
  ASSERT_TRUE(p.pump([&] { return p.a.dones.size() == 1 && p.b.end->counter(0) == 1; }));
  EXPECT_EQ(p.a.done(1), Code::peer);
  EXPECT_EQ(p.b.memory[5], std::byte{42});
}

TEST_P(FaultTest, AMutedTransferLandsAndIsNotDone) {
  FaultPair p(options(), nth(Fault::mute, 1));
  p.a.memory[5] = std::byte{42};
  ASSERT_TRUE(p.post(p.put(64, {0, 1}, When::delivered, 1)));
  ASSERT_TRUE(p.pump([&] { return p.b.end->counter(0) == 1; }));
  p.idle();
  EXPECT_TRUE(p.a.dones.empty());
  EXPECT_EQ(p.b.memory[5], std::byte{42});
  p.a.end->close();
  p.idle();
  EXPECT_EQ(p.a.done(1), Code::aborted);
}

TEST_P(FaultTest, AFrozenLinkIsSilentUntilItThaws) {
  FaultPair p(options(), FaultPlan{});
  p.hook->freeze(true);
  ASSERT_EQ(p.a.end->post(std::array{p.put(64, {0, 1}, When::delivered, 1)}), 1u);
  p.idle();
  EXPECT_TRUE(p.a.dones.empty());
  p.hook->freeze(false);
  ASSERT_TRUE(p.pump([&] { return p.b.end->counter(0) == 1 && p.a.dones.size() == 1; }));
  EXPECT_EQ(p.a.done(1), Code::ok);
}

TEST_P(FaultTest, ALinkThatWasTakenDownOpensAgainLater) {
  FaultPair p(options(), FaultPlan{});
  p.hook->take_down(true);
  EXPECT_EQ(p.a.end->state(), State::failed);
  EXPECT_EQ(p.hook->open(2, 7).status().code(), Code::system);
  p.hook->take_down(false);
  EXPECT_TRUE(p.hook->open(2, 7).ok());
}

TEST_P(FaultTest, DelayKeepsTheOrderOfACounter) {
  FaultPlan plan;
  plan.rules.push_back({.fault = Fault::delay, .nth = 1, .polls = 30});
  FaultPair p(options(), plan);
  std::fill_n(p.a.memory.begin(), 64, std::byte{1});
  std::fill_n(p.a.memory.begin() + 64, 64, std::byte{2});
  Transfer late = p.put(64, {0, 1}, When::never, 0);
  Transfer behind = late;  // the same place: the last one must win
  behind.local = p.a.region->slice(64, 64).value();
  ASSERT_EQ(p.a.end->post({&late, 1}), 1u);
  ASSERT_EQ(p.a.end->post({&behind, 1}), 1u);
  EXPECT_FALSE(p.a.domain->arm()) << "held transfers are pending";
  p.idle(20);
  EXPECT_EQ(p.b.end->counter(0), 0u);
  ASSERT_TRUE(p.pump([&] { return p.b.end->counter(0) == 2; }));
  EXPECT_EQ(std::count(p.b.memory.begin(), p.b.memory.begin() + 64, std::byte{2}), 64);
}

TEST_P(FaultTest, OtherCountersOvertakeADelay) {
  FaultPlan plan;
  plan.rules.push_back({.fault = Fault::delay, .nth = 1, .polls = 200});
  FaultPair p(options(), plan);
  ASSERT_TRUE(p.post(p.put(64, {0, 1}, When::never, 0)));
  ASSERT_TRUE(p.post(p.put(64, {1, 1}, When::never, 0)));
  ASSERT_TRUE(p.pump([&] { return p.b.end->counter(1) == 1; }));
  EXPECT_EQ(p.b.end->counter(0), 0u);
  EXPECT_TRUE(p.pump([&] { return p.b.end->counter(0) == 1; }));
}

TEST_P(FaultTest, ADelayedInlineSourceIsFree) {
  FaultPlan plan;
  plan.rules.push_back({.fault = Fault::delay, .nth = 1, .polls = 10});
  FaultPair p(options(), plan);
  if (p.hook->capabilities().inline_bytes == 0) GTEST_SKIP() << "nothing inline here";
  std::fill_n(p.a.memory.begin(), 64, std::byte{7});
  ASSERT_TRUE(p.post(p.put(64, {0, 1}, When::never, 0)));
  std::fill_n(p.a.memory.begin(), 64, std::byte{8});
  ASSERT_TRUE(p.pump([&] { return p.b.end->counter(0) == 1; }));
  EXPECT_EQ(std::count(p.b.memory.begin(), p.b.memory.begin() + 64, std::byte{7}), 64);
}

int different_bits(const std::vector<std::byte>& x, const std::vector<std::byte>& y) {
  int bits = 0;
  for (size_t i = 0; i < x.size(); ++i) bits += std::popcount(uint8_t(x[i] ^ y[i]));
  return bits;
}

TEST_P(FaultTest, CorruptFlipsOneBitOfAPut) {
  for (When when : {When::never, When::reusable, When::delivered}) {
    FaultPair p(options(), nth(Fault::corrupt, 1));
    for (size_t i = 0; i < p.a.memory.size(); ++i) p.a.memory[i] = std::byte(i * 7);
    ASSERT_TRUE(p.post(p.put(8192, {0, 1}, when, 1)));
    ASSERT_TRUE(p.pump([&] { return p.b.end->counter(0) == 1; }));
    p.idle();
    EXPECT_EQ(different_bits(p.a.memory, p.b.memory), 1);
    EXPECT_EQ(p.a.dones.size(), when == When::never ? 0u : 1u);
    EXPECT_EQ(p.b.end->counter(0), 1u);
    ASSERT_TRUE(p.post(p.put(8192, {0, 1}, when, 2)));
    ASSERT_TRUE(p.pump([&] { return p.b.end->counter(0) == 2; }));
    EXPECT_EQ(different_bits(p.a.memory, p.b.memory), 0) << "only the first";
  }
}

TEST_P(FaultTest, CorruptFlipsOneBitOfAGet) {
  FaultPair p(options(), nth(Fault::corrupt, 1));
  for (size_t i = 0; i < p.b.memory.size(); ++i) p.b.memory[i] = std::byte(i * 5);
  ASSERT_TRUE(p.post(p.get(8192, 1)));
  ASSERT_TRUE(p.pump([&] { return p.a.done(1) == Code::ok; }));
  EXPECT_EQ(different_bits(p.a.memory, p.b.memory), 1);
}

TEST_P(FaultTest, KillEndsBothSides) {
  FaultPair p(options(), nth(Fault::kill, 3));
  Transfer t = p.put(64, {0, 1}, When::delivered, 1);
  ASSERT_TRUE(p.post(t));
  t.cookie = 2;
  ASSERT_TRUE(p.post(t));
  t.cookie = 3;
  ASSERT_TRUE(p.pump([&] {
    EXPECT_EQ(p.a.end->post({&t, 1}), 0u);  // for want of room, or for the kill
    return p.a.end->state() == State::failed;
  }));
  ASSERT_TRUE(p.pump([&] {
    return p.a.done(FaultPair::kEndCookie) != Code::internal &&
           p.b.done(FaultPair::kEndCookie) != Code::internal;
  }));
  p.idle();
  EXPECT_EQ(p.a.end->state(), State::failed);
  EXPECT_NE(p.a.end->error().find("killed"), std::string_view::npos);
  EXPECT_EQ(p.b.end->state(), State::failed);
  EXPECT_EQ(p.a.done(FaultPair::kEndCookie), Code::peer);
  for (uint64_t i = 1; i <= 2; ++i) EXPECT_TRUE(p.a.done(i) == Code::ok || p.a.done(i) == Code::peer);
  EXPECT_EQ(p.a.dones.size(), 3u);
  p.a.end->close();
  EXPECT_EQ(p.a.end->state(), State::closed);
}

TEST_P(FaultTest, LinksCanBeKilledFromTheTest) {
  FaultPair p(options(), FaultPlan{});
  p.hook->kill_links();
  ASSERT_TRUE(p.pump([&] { return p.b.end->state() == State::failed; }));
  p.idle();
  EXPECT_EQ(p.a.end->state(), State::failed);
  EXPECT_EQ(p.a.done(FaultPair::kEndCookie), Code::peer);
}

// By probability the same seed hits the same transfers, another seed others.
TEST_P(FaultTest, SeedsDecide) {
  auto run = [&](uint64_t seed) {
    FaultPlan plan{.seed = seed, .rules = {{.fault = Fault::fail, .probability = 0.3}}};
    FaultPair p(options(), plan);
    for (uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(p.post(p.put(8, {0, 1}, When::delivered, i)));
    EXPECT_TRUE(p.pump([&] { return p.a.dones.size() == 100; }));
    std::vector<bool> hit;
    for (uint64_t i = 0; i < 100; ++i) hit.push_back(p.a.done(i) == Code::peer);
    return hit;
  };
  auto once = run(1);
  auto hits = std::count(once.begin(), once.end(), true);
  EXPECT_TRUE(hits > 10 && hits < 60) << hits;
  EXPECT_EQ(once, run(1));
  EXPECT_NE(once, run(2));
}

// Rules choose an endpoint, and may come and go in the middle.
TEST_P(FaultTest, RulesCanBeAddedAndChooseAnEndpoint) {
  FaultPlan other{.seed = 1, .rules = {{.fault = Fault::fail, .endpoint = 1, .nth = 1}}};
  FaultPair p(options(), other);
  ASSERT_TRUE(p.post(p.put(8, {0, 1}, When::delivered, 1)));
  p.hook->add({.fault = Fault::fail, .endpoint = 0, .nth = 1});
  ASSERT_TRUE(p.post(p.put(8, {0, 1}, When::delivered, 2)));
  p.hook->clear();
  ASSERT_TRUE(p.post(p.put(8, {0, 1}, When::delivered, 3)));
  ASSERT_TRUE(p.pump([&] { return p.a.dones.size() == 3; }));
  EXPECT_EQ(p.a.done(1), Code::ok);
  EXPECT_EQ(p.a.done(2), Code::peer);
  EXPECT_EQ(p.a.done(3), Code::ok);
}

// Everything at once: each wanted Done comes exactly once.
TEST_P(FaultTest, EveryWantedDoneComesOnceWhateverHappens) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FaultPlan plan{.seed = seed, .rules = {}};
    for (Fault f : {Fault::drop, Fault::delay, Fault::corrupt, Fault::fail, Fault::lose_ack}) {
      plan.rules.push_back({.fault = f, .probability = 0.1, .polls = 9});
    }
    FaultPair p(options(), plan);
    uint64_t posted = 0;
    for (int i = 0; i < 400 && posted < 80; ++i) {
      Transfer t = p.put(100, {uint16_t(i % 2), 1}, i % 2 == 0 ? When::delivered : When::reusable, posted);
      posted += p.a.end->post({&t, 1});
      p.idle(1);
    }
    if (seed % 2 == 0) p.hook->kill_links();
    p.a.end->close();
    p.idle(300);
    for (uint64_t i = 0; i < posted; ++i) EXPECT_NE(p.a.done(i), Code::internal) << i;
    EXPECT_EQ(p.a.dones.size(), posted + (seed % 2 == 0));
  }
}

INSTANTIATE_TEST_SUITE_P(Fake, FaultTest, testing::Bool(), [](const testing::TestParamInfo<bool>& one) {
  return one.param ? "shallow" : "plain";
});

}  // namespace
}  // namespace plait::transport::hooks
