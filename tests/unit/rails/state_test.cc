// Two sides of one rail, whose lines arrive in order and late: they always agree in the end.
#include "transport/rails/state.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace plait::transport::rails {
namespace {

struct Said {
  Event event;
  uint32_t generation;
};

struct Half {
  RailState state;
  std::deque<Said> out;
  bool open = true, connected = true;
  int settled = 0, closed = 0;

  void act(uint8_t actions, std::mt19937_64& random) {
    ASSERT_EQ(actions & kNonsense, 0);
    if ((actions & kClose) != 0) open = connected = false, ++closed;
    if ((actions & kSayDead) != 0) out.push_back({Event::peer_dead, state.generation()});
    if ((actions & kSettle) != 0) ++settled;
    if ((actions & kOpen) != 0) {
      if (random() % 4 == 0) return act(state.on(Event::local_death), random);  // it cannot be opened
      open = true;
      out.push_back({Event::peer_offer, state.generation()});
    }
    if ((actions & kConnect) != 0) {
      ASSERT_TRUE(open);
      connected = true;
    }
    if ((actions & kSayReady) != 0) out.push_back({Event::peer_ready, state.generation()});
  }
};

TEST(RailState, BothSidesAgree) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::array<Half, 2> halves;
    for (Half& half : halves) half.act(half.state.on(Event::local_ready), random);
    for (int step = 0; step < 400; ++step) {
      Half& half = halves[random() % 2];
      Half& other = &half == &halves[0] ? halves[1] : halves[0];
      const uint64_t what = random() % 20;
      if (what == 0 && step < 300) half.act(half.state.on(Event::local_death), random);
      if (what == 1 || what == 2) half.act(half.state.on(Event::retry), random);
      if ((what == 3 || what == 4) && half.connected && half.state.generation() > 1)
        half.act(half.state.on(Event::local_ready), random);
      if (what > 4 && !half.out.empty()) {
        const Said said = half.out.front();
        half.out.pop_front();
        other.act(other.state.on(said.event, said.generation), random);
      }
      if (testing::Test::HasFatalFailure()) return;
      // Nobody is more than one generation ahead, and whoever uses a rail knows that the other can receive.
      ASSERT_LE(half.state.generation(), other.state.generation() + 1);
      if (half.state.phase() == Phase::live && other.state.generation() == half.state.generation() &&
          other.state.phase() == Phase::joining) {
        ASSERT_TRUE(other.state.ready_here());
      }
    }
    for (int round = 0; round < 200; ++round) {
      for (size_t i = 0; i < 2; ++i) {
        while (!halves[i].out.empty()) {
          const Said said = halves[i].out.front();
          halves[i].out.pop_front();
          halves[1 - i].act(halves[1 - i].state.on(said.event, said.generation), random);
        }
        halves[i].act(halves[i].state.on(Event::retry), random);
        if (halves[i].connected && halves[i].state.generation() > 1)
          halves[i].act(halves[i].state.on(Event::local_ready), random);
      }
    }
    EXPECT_EQ(halves[0].state.phase(), Phase::live);
    EXPECT_EQ(halves[1].state.phase(), Phase::live);
    EXPECT_EQ(halves[0].state.generation(), halves[1].state.generation());
  }
}

TEST(RailState, LinesOutOfPlaceAreNonsense) {
  RailState state;
  state.on(Event::local_ready);
  ASSERT_EQ(state.phase(), Phase::live);
  EXPECT_EQ(state.on(Event::peer_offer, 1), kNonsense);
  EXPECT_EQ(state.on(Event::peer_offer, 2), kNonsense);
  EXPECT_EQ(state.on(Event::peer_ready, 1), kNonsense);
  EXPECT_EQ(state.on(Event::peer_dead, 2), kNonsense);
  EXPECT_EQ(state.on(Event::peer_dead, 0), kNonsense);
  EXPECT_EQ(state.on(Event::retry), 0);
  EXPECT_EQ(state.phase(), Phase::live);
}

}  // namespace
}  // namespace plait::transport::rails
