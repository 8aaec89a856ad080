// Rule 1: on one counter of one endpoint transfers act in post order, bytes before signal. Nothing else is
// ordered, so every part carries its own signal.
#include <random>

#include "conformance/fixture.h"

namespace plait::transport::conformance {
namespace {

TEST_P(Conformance, Rule01_BytesBeforeSignal) {
  Link& l = link(0, 1);
  constexpr int kRounds = 60;
  size_t bytes = std::min<size_t>(caps().max_transfer, 3000);
  Buffer& from = buffer(0, bytes);
  Buffer& to = buffer(1, bytes, Access::write);
  RemoteRegion* remote = l.a.import(to);
  ASSERT_NE(remote, nullptr);
  for (int i = 1; i <= kRounds; ++i) {
    from.fill(uint8_t(i));
    ASSERT_TRUE(put_bytes(l.a, from, remote, {1, 1}, When::never, 0));
    ASSERT_TRUE(pump([&] { return l.b.end->counter(1) == uint64_t(i); }));
    ASSERT_TRUE(to.holds(uint8_t(i))) << "signal " << i << " came before its bytes";
  }
}

// A signal covers every earlier put on its counter, those with add 0 too.
TEST_P(Conformance, Rule01_ASignalCoversEarlierPuts) {
  Link& l = link(0, 1);
  constexpr size_t kParts = 10, kBytes = 512;
  Buffer& from = buffer(0, kParts * kBytes);
  Buffer& to = buffer(1, kParts * kBytes, Access::write);
  from.fill(3);
  RemoteRegion* remote = l.a.import(to);
  ASSERT_NE(remote, nullptr);
  std::vector<Transfer> parts;
  for (size_t i = 0; i < kParts; ++i) {
    parts.push_back(put(from.local(i * kBytes, kBytes), remote->slice(i * kBytes, kBytes).value(), {0, 0}));
  }
  parts.push_back(signal_only({0, 1}));
  ASSERT_TRUE(post_all(l.a, parts));
  ASSERT_TRUE(pump([&] { return l.b.end->counter(0) == 1; }));
  EXPECT_TRUE(to.holds(3));
}

// Puts to the same place on one counter: the last one wins.
TEST_P(Conformance, Rule01_PostOrderOnOneCounter) {
  Link& l = link(0, 1);
  constexpr size_t kBytes = 200;
  constexpr int kPuts = 8;
  Buffer& to = buffer(1, kBytes, Access::write);
  RemoteRegion* remote = l.a.import(to);
  ASSERT_NE(remote, nullptr);
  for (int round = 0; round < 10; ++round) {
    std::vector<Transfer> puts;
    for (int i = 0; i < kPuts; ++i) {
      Buffer& from = buffer(0, kBytes);
      from.fill(uint8_t(round * kPuts + i));
      puts.push_back(
          put(from.local(0, kBytes), remote->slice(0, kBytes).value(), {1, uint16_t(i + 1 == kPuts)}));
    }
    ASSERT_TRUE(post_all(l.a, puts));
    ASSERT_TRUE(pump([&] { return l.b.end->counter(1) == uint64_t(round + 1); }));
    ASSERT_TRUE(to.holds(uint8_t(round * kPuts + kPuts - 1))) << "round " << round;
  }
}

// A get sees the puts posted before it on its counter.
TEST_P(Conformance, Rule01_AGetFollowsEarlierPuts) {
  if (!caps().get) GTEST_SKIP() << "this back end has no get";
  Link& l = link(0, 1);
  Buffer& from = buffer(0, 4000);
  Buffer& back = buffer(0, 4000);
  Buffer& to = buffer(1, 4000, Access::both);
  RemoteRegion* remote = l.a.import(to);
  ASSERT_NE(remote, nullptr);
  for (uint8_t i = 1; i < 10; ++i) {
    from.fill(i);
    uint64_t cookie = next_cookie();
    ASSERT_TRUE(post_all(l.a, {put(from.local(0, 4000), remote->slice(0, 4000).value()),
                               get(back.local(0, 4000), remote->slice(0, 4000).value(), cookie)}));
    ASSERT_TRUE(pump([&] { return rank(0).count(cookie) == 1; }));
    ASSERT_EQ(rank(0).oks(cookie), 1);
    ASSERT_TRUE(back.holds(i));
  }
}

// Several rails to one peer, several counters a rail, parts of one message spread over all: each signal
// covers its own part, in whatever order they come, and credits flow back.
TEST_P(Conformance, Rule01_EachPartCarriesItsSignal) {
  constexpr uint16_t kRails = 3, kCounters = 3, kStreams = kRails * kCounters;
  constexpr uint64_t kRounds = 30;
  constexpr size_t kBytes = 700;
  uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  struct Stream {
    Side *sender, *receiver;
    uint16_t counter;
    Buffer *from, *to;
    RemoteRegion* remote;
    uint64_t sent = 0, checked = 0;
  };
  std::vector<Stream> streams;
  for (int r = 0; r < kRails; ++r) {
    Link& l = link(0, 1, kCounters);
    for (uint16_t c = 0; c < kCounters; ++c) {
      Buffer& to = buffer(1, kBytes, Access::write);
      streams.push_back({&l.a, &l.b, c, &buffer(0, kBytes), &to, l.a.import(to)});
      ASSERT_NE(streams.back().remote, nullptr);
    }
  }
  uint64_t finished = 0;
  ASSERT_TRUE(pump([&] {
    Stream& s = streams[random() % kStreams];
    // The receiver's credit: its own signal on the same counter the other way.
    if (s.sent < kRounds && s.sender->end->counter(s.counter) == s.sent) {
      s.from->fill(uint8_t(s.sent * 3 + s.counter));
      Transfer t = put(s.from->local(0, kBytes), s.remote->slice(0, kBytes).value(), {s.counter, 1});
      s.sent += s.sender->end->post({&t, 1});
    }
    for (Stream& r : streams) {
      if (r.receiver->end->counter(r.counter) <= r.checked) continue;
      if (!r.to->holds(uint8_t(r.checked * 3 + r.counter))) {
        ADD_FAILURE() << "round " << r.checked << " of counter " << r.counter << ": signal before bytes";
        return true;
      }
      Transfer credit = signal_only({r.counter, 1});
      if (r.receiver->end->post({&credit, 1}) == 0) continue;
      if (++r.checked == kRounds) ++finished;
    }
    return finished == kStreams;
  }));
}

}  // namespace
}  // namespace plait::transport::conformance
