// TCP is a stream: frames come in parts cut anywhere, end anywhere, and may be damaged by who forwards them.
#include <random>

#include "proxy.h"

namespace plait::transport::tcp::test {
namespace {

struct Proxied {
  Pair pair;
  std::unique_ptr<Proxy> before_a, before_b;
  explicit Proxied(const Proxy::Plan& plan) {
    before_a = std::make_unique<Proxy>(ticket_of(*pair.a.end).addresses[0], plan);
    before_b = std::make_unique<Proxy>(ticket_of(*pair.b.end).addresses[0], plan);
  }
  bool connect() { return pair.connect(before_b->ticket(*pair.b.end), before_a->ticket(*pair.a.end)); }
  uint64_t passed() const { return before_a->passed() + before_b->passed(); }
};

// Puts, gets and signals both ways on both connections; every byte is checked.
void exchange(Pair& pair, size_t bytes) {
  Window at_b(pair.b, pair.a, bytes), at_a(pair.a, pair.b, bytes);
  Bytes source(bytes), back(bytes);
  fill(source, 5);
  fill(at_a.bytes, 9);
  for (uint16_t lane = 0; lane < 2; ++lane) {
    const Transfer from_a[] = {
        make_put(source.data(), bytes, *at_b.remote, 0, {lane, 2}, When::delivered, 10u + lane),
        make_get(back.data(), bytes, *at_b.remote, 0, 20u + lane, lane)};
    ASSERT_EQ(pair.a.end->post(from_a), 2U);
    const Transfer from_b = make_signal({lane, 3}, When::delivered, 30u + lane);
    ASSERT_EQ(pair.b.end->post({&from_b, 1}), 1U);
    // The answer to the get may come before the acknowledgement of the put.
    ASSERT_TRUE(pair.until([&] {
      return pair.a.count(10u + lane) == 1 && pair.a.count(20u + lane) == 1 && pair.b.count(30u + lane) == 1;
    }));
    EXPECT_EQ(pair.a.code(10u + lane), Code::ok);
    EXPECT_EQ(pair.a.code(20u + lane), Code::ok);
    EXPECT_EQ(at_b.bytes, source);
    EXPECT_EQ(back, source);
    EXPECT_EQ(pair.b.end->counter(lane), 2U);
    EXPECT_EQ(pair.a.end->counter(lane), 3U);
    std::fill(at_b.bytes.begin(), at_b.bytes.end(), std::byte{0});
    std::fill(back.begin(), back.end(), std::byte{0});
  }
}

TEST(TcpStream, CutIntoSingleBytes) {
  for (size_t bytes : {1u, 8u, 257u, 1500u}) {
    Proxied proxied({.chunk = 1});
    ASSERT_TRUE(proxied.connect());
    exchange(proxied.pair, bytes);
  }
}

TEST(TcpStream, CutAnywhere) {
  for (size_t chunk : {3u, 39u, 41u, 47u, 1000u, 40'009u}) {
    Proxied proxied({.chunk = chunk});
    ASSERT_TRUE(proxied.connect());
    exchange(proxied.pair, chunk < 100 ? 1'500 : 300'001);
  }
}

// Puts of one word each, one after the other, until everything is reset in the midst: what was reported
// delivered is there.
TEST(TcpStream, WhatWasDeliveredHasLandedThoughTheLinkIsReset) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 30; ++round) {
    Proxied proxied({.chunk = 1 + random() % 5000});
    Pair& pair = proxied.pair;
    ASSERT_TRUE(proxied.connect());
    const uint64_t most = random() % 100'000;  // after connecting, whatever that took: TLS takes more
    proxied.before_a->cut_after(most);
    proxied.before_b->cut_after(most);
    constexpr uint64_t kWords = 4000;
    Window words(pair.b, pair.a, kWords * 8);
    uint64_t posted = 0;
    ASSERT_TRUE(pair.until([&] {
      const uint64_t word = posted + 1;
      Transfer put = make_put(reinterpret_cast<const std::byte*>(&word), 8, *words.remote,
                              posted % kWords * 8, {uint16_t(posted % 2), 1}, When::delivered, posted);
      if (posted < kWords) posted += pair.a.end->post({&put, 1});
      return pair.a.count(pair.a.cookie) == 1 && pair.b.count(pair.b.cookie) == 1;
    }));
    EXPECT_EQ(pair.a.code(pair.a.cookie), Code::peer) << pair.a.end->error();
    for (uint64_t i = 0; i < posted; ++i) {
      ASSERT_EQ(pair.a.count(i), 1);
      uint64_t there = 0;
      std::memcpy(&there, words.bytes.data() + i * 8, 8);
      if (pair.a.code(i) == Code::ok) {
        EXPECT_EQ(there, i + 1);
      }
    }
  }
}

// A bit that changes on the way may change what is written, not where: the endpoints fail, or nothing else
// does.
TEST(TcpStream, DamageStaysInTheRegion) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    Proxied proxied({.flip_at = 3 * sizeof(Hello) + random() % 3000});
    Pair& pair = proxied.pair;
    (void)pair.a.end->connect(proxied.before_b->ticket(*pair.b.end));
    (void)pair.b.end->connect(proxied.before_a->ticket(*pair.a.end));
    auto settled = [](State s) { return s == State::ready || s == State::failed; };
    Deadline soon = Deadline::in_ms(500);  // a damaged length may have it wait for more
    pair.until(
        [&] { return (settled(pair.a.end->state()) && settled(pair.b.end->state())) || soon.passed(); });
    if (pair.a.end->state() != State::ready || pair.b.end->state() != State::ready) continue;
    Bytes memory(3000, std::byte{0x77});
    auto region = pair.b.domain->expose({memory.data() + 1000, 1000}, Access::both).value();
    auto remote = pair.a.end->import(region->key()).value();
    Bytes source(1000, std::byte{1});
    for (uint64_t i = 0; i < 12; ++i) {
      Transfer t =
          make_put(source.data(), 100 + i * 13, *remote, i * 50, {uint16_t(i % 2), 1}, When::delivered, i);
      pair.a.end->post({&t, 1});
    }
    Deadline enough = Deadline::in_ms(20);
    pair.until([&] { return pair.a.count(pair.a.cookie) == 1 || enough.passed(); });
    for (size_t i = 0; i < 1000; ++i) {
      ASSERT_EQ(memory[i], std::byte{0x77});
      ASSERT_EQ(memory[2000 + i], std::byte{0x77});
    }
  }
}

}  // namespace
}  // namespace plait::transport::tcp::test
