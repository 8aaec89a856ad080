// Bytes and signals at random, against a model; regions that come and go under fire; many peers at once.
#include <atomic>
#include <random>
#include <thread>

#include "../../support/fork_exchange.h"
#include "../../support/local_exchange.h"
#include "rig.h"
#include "transport/wireup.h"

namespace plait::transport::tcp::test {
namespace {

using transport::test::run_forked;
using transport::test::run_threads;

// Random puts of random sizes on random counters, each to a place of its own; the signals of each counter
// must come to the sum posted, every Done once, every byte where it belongs.
TEST(TcpTransfer, AtRandom) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr size_t kBytes = size_t{24} << 20;
  Pair pair;
  ASSERT_TRUE(pair.connect());
  Window window(pair.b, pair.a, kBytes);
  Bytes source(kBytes), back(kBytes), model(kBytes);
  fill(source, seed);
  std::array<uint64_t, 4> sums{};
  std::vector<Transfer> all;
  uint64_t wanted = 0;
  for (size_t at = 0; at < kBytes;) {
    const size_t kind = random() % 10;
    size_t bytes = kind < 6 ? random() % 400 : kind < 9 ? random() % 70'000 : random() % 1'500'000;
    bytes = std::min(bytes, kBytes - at);
    const Signal signal{uint16_t(random() % 4), uint16_t(random() % 3)};
    const When when = When(random() % 3);
    Transfer t = make_put(source.data() + at, bytes, *window.remote, at, signal, when, all.size());
    if (bytes == 0) t = make_signal(signal, when, all.size());
    if (random() % 16 == 0 && bytes != 0)
      t = make_get(back.data() + at, bytes, *window.remote, at, all.size(), signal.counter);
    if (t.verb == Verb::put) {
      std::copy_n(source.begin() + ptrdiff_t(at), bytes, model.begin() + ptrdiff_t(at));
      sums[signal.counter] += signal.add;
    }
    wanted += t.when != When::never;
    all.push_back(t);
    at += bytes;
  }
  size_t posted = 0;
  const auto finished = [&] {
    if (posted < all.size())
      posted += pair.a.end->post(std::span(all).subspan(posted, 1 + random() % 40 % (all.size() - posted)));
    for (uint16_t i = 0; i < 4; ++i) {
      if (pair.b.end->counter(i) != sums[i]) return false;
    }
    return posted == all.size() && pair.a.dones.size() == wanted;
  };
  ASSERT_TRUE(pair.until(finished)) << pair.a.end->error() << pair.b.end->error() << posted << " of "
                                    << all.size();
  for (const Done& done : pair.a.dones) ASSERT_EQ(done.status, Code::ok);
  for (size_t i = 0; i < 50; ++i) pair.a.poll(), pair.b.poll();
  EXPECT_EQ(pair.a.dones.size(), wanted);
  EXPECT_EQ(window.bytes, model);
}

// Both ways at once, large: neither side waits for the other to read first.
TEST(TcpTransfer, BothWaysWithoutADeadlock) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  constexpr size_t kBytes = size_t{40} << 20;
  Window at_b(pair.b, pair.a, kBytes), at_a(pair.a, pair.b, kBytes);
  Bytes source(kBytes);
  fill(source, 3);
  for (uint16_t lane = 0; lane < 2; ++lane) {
    const Transfer to_b = make_put(source.data(), kBytes, *at_b.remote, 0, {lane, 1}, When::delivered, lane);
    const Transfer to_a = make_get(at_a.bytes.data(), kBytes, *at_b.remote, 0, 10u + lane, lane);
    ASSERT_EQ(pair.a.end->post({&to_b, 1}), 1U);
    ASSERT_EQ(pair.a.end->post({&to_a, 1}), 1U);
    const Transfer other = make_put(source.data(), kBytes, *at_a.remote, 0, {lane, 1}, When::delivered, lane);
    ASSERT_EQ(pair.b.end->post({&other, 1}), 1U);
  }
  EXPECT_TRUE(pair.until([&] { return pair.a.dones.size() == 4 && pair.b.dones.size() == 2; }));
  EXPECT_EQ(at_b.bytes, source);
  EXPECT_EQ(at_a.bytes, source);
}

// What is small on an even counter does not wait behind what is large on an odd one.
TEST(TcpTransfer, AnEvenCounterOvertakesAnOddOne) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  Window window(pair.b, pair.a, size_t{64} << 20);
  Bytes source(window.bytes.size());
  const Transfer both[] = {make_put(source.data(), source.size(), *window.remote, 0, {1, 1}),
                           make_signal({0, 1})};
  ASSERT_EQ(pair.a.end->post(both), 2U);
  ASSERT_TRUE(pair.until([&] { return pair.b.end->counter(0) == 1; }));
  EXPECT_EQ(pair.b.end->counter(1), 0U);
  EXPECT_TRUE(pair.until([&] { return pair.b.end->counter(1) == 1; }));
}

// Another thread takes regions away while bytes come in: after ~Region nothing is written there.
TEST(TcpTransfer, RegionsGoUnderFire) {
  for (int round = 0; round < 25; ++round) {
    Pair pair;
    ASSERT_TRUE(pair.connect());
    Window window(pair.b, pair.a, 600'000);
    Bytes source(window.bytes.size(), std::byte{1});
    std::atomic<bool> stop{false}, gone{false};
    std::thread thief([&] {
      for (int i = 0; i < round * 8; ++i) std::this_thread::yield();
      window.region.reset();
      std::fill(window.bytes.begin(), window.bytes.end(), std::byte{0x55});
      gone.store(true);
      while (!stop.load()) std::this_thread::yield();
      EXPECT_EQ(std::count(window.bytes.begin(), window.bytes.end(), std::byte{0x55}),
                ptrdiff_t(window.bytes.size()));
    });
    uint64_t cookie = 0;
    EXPECT_TRUE(pair.until([&] {
      const Transfer t = make_put(source.data(), source.size(), *window.remote, 0, {uint16_t(cookie % 2), 1},
                                  When::delivered, cookie);
      cookie += pair.a.end->post({&t, 1});
      return gone.load() && pair.a.count(pair.a.cookie) == 1;
    }));
    EXPECT_EQ(pair.a.code(pair.a.cookie), Code::invalid) << pair.a.end->error();
    EXPECT_NE(pair.a.end->error().find("destroyed"), std::string_view::npos) << pair.a.end->error();
    stop.store(true);
    thief.join();
  }
}

// Dones that are not taken, small puts behind large ones, more than depth: nothing is lost for want of room.
TEST(TcpTransfer, SmallBehindLargeKeepTheirBytes) {
  Pair pair;
  ASSERT_TRUE(pair.connect());
  Window window(pair.b, pair.a, size_t{2} << 20);
  Bytes large(size_t{1} << 20, std::byte{1});
  Transfer first = make_put(large.data(), large.size(), *window.remote, 0, {1, 0}, When::never);
  ASSERT_EQ(pair.a.end->post({&first, 1}), 1U);
  constexpr uint64_t kSmall = 600;
  uint64_t posted = 0;
  ASSERT_TRUE(pair.until([&] {
    while (posted < kSmall) {
      uint64_t word = posted;
      Transfer t = make_put(reinterpret_cast<std::byte*>(&word), 8, *window.remote, large.size() + posted * 8,
                            {1, 1}, When(posted % 3), posted);
      if (pair.a.end->post({&t, 1}) == 0) break;
      word = UINT64_MAX;
      ++posted;
    }
    return pair.b.end->counter(1) == kSmall;
  }));
  for (uint64_t i = 0; i < kSmall; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, window.bytes.data() + large.size() + i * 8, 8);
    ASSERT_EQ(word, i);
  }
}

// More connections with something to say than are asked in one poll: each has its turn.
TEST(TcpTransfer, ManyBusyConnections) {
  constexpr size_t kEnds = 40, kBytes = size_t{512} << 10;
  Pair pair;
  ASSERT_TRUE(pair.connect());
  Bytes source(kBytes), target(kEnds * kBytes);
  fill(source, 8);
  auto region = pair.b.domain->expose({target.data(), target.size()}, Access::write).value();
  std::vector<std::unique_ptr<Endpoint>> from, to;
  std::vector<std::unique_ptr<RemoteRegion>> remotes;
  for (size_t i = 0; i < kEnds; ++i) {
    from.push_back(pair.a.domain->open(2, 1000 + i).value());
    to.push_back(pair.b.domain->open(2, 2000 + i).value());
    ASSERT_TRUE(from[i]->connect(to[i]->ticket()).ok());
    ASSERT_TRUE(to[i]->connect(from[i]->ticket()).ok());
    remotes.push_back(from[i]->import(region->key()).value());
  }
  ASSERT_TRUE(pair.until([&] {
    const auto is_ready = [](const auto& end) { return end->state() == State::ready; };
    return std::ranges::all_of(from, is_ready) && std::ranges::all_of(to, is_ready);
  }));
  for (size_t i = 0; i < kEnds; ++i) {
    const Transfer put = make_put(source.data(), kBytes, *remotes[i], i * kBytes, {uint16_t(i % 2), 1});
    ASSERT_EQ(from[i]->post({&put, 1}), 1U);
  }
  EXPECT_TRUE(pair.until([&] { return pair.a.dones.size() == kEnds; }));
  for (const Done& done : pair.a.dones) EXPECT_EQ(done.status, Code::ok);
  for (size_t i = 0; i < kEnds; ++i)
    EXPECT_TRUE(std::equal(source.begin(), source.end(), target.begin() + ptrdiff_t(i * kBytes)));
  remotes.clear();
}

void everybody_signals_everybody(Exchange& exchange) {
  const Bounds bounds{Deadline::in_ms(kLimitMs), nullptr};
  auto domain = make();
  auto wired = wire_up(*domain, exchange, 4, bounds);
  ASSERT_TRUE(wired.ok()) << wired.status().text();
  const auto all_came = [&] {
    for (auto& end : *wired) {
      if (end != nullptr && end->counter(3) != 50) return false;
    }
    return true;
  };
  for (int i = 0; i < 50; ++i) {
    for (auto& end : *wired) {
      const Transfer one = make_signal({3, 1});
      while (end != nullptr && end->post({&one, 1}) == 0) domain->poll({});
    }
    domain->poll({});
  }
  while (!all_came() && !bounds.deadline.passed()) domain->poll({});
  EXPECT_TRUE(all_came());
  EXPECT_TRUE(exchange.allgather({}, bounds).ok());
}

TEST(TcpTransfer, ManyThreads) { run_threads(6, everybody_signals_everybody); }
TEST(TcpTransfer, ManyProcesses) {
  for (int status : run_forked(6, everybody_signals_everybody)) EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace plait::transport::tcp::test
