// Rule 3: how much a Done says.
#include "conformance/fixture.h"

namespace plait::transport::conformance {
namespace {

// An empty put that adds nothing is done when all before it are in the target's memory, whoever asked for
// them.
TEST_P(Conformance, Rule03_AMarkTellsOfAllBeforeIt) {
  constexpr size_t kBytes = 300'000;
  Link& l = link(0, 1);
  Buffer &from = buffer(0, kBytes), &to = buffer(1, kBytes, Access::write);
  RemoteRegion* remote = l.a.import(to);
  ASSERT_NE(remote, nullptr);
  for (uint8_t round = 1; round <= 20; ++round) {
    from.fill(round);
    const auto counter = uint16_t(round % 2);
    const uint64_t cookie = next_cookie();
    for (const auto& [at, bytes] :
         {std::pair<size_t, size_t>{0, 8}, {8, 5'000}, {5'008, 60'000}, {65'008, 40}}) {
      ASSERT_TRUE(post_one(l.a, put(from.local(at, bytes), remote->slice(at, bytes).value(), {counter, 1})));
    }
    ASSERT_TRUE(post_one(l.a, signal_only({counter, 0}, When::delivered, cookie)));
    ASSERT_TRUE(pump([&] { return rank(0).count(cookie) == 1; }));
    ASSERT_EQ(rank(0).oks(cookie), 1);
    ASSERT_TRUE(to.holds(round, 0, 65'048)) << "round " << int(round);
  }
}

// After `delivered` the bytes are in the target's memory, though the target does nothing more.
TEST_P(Conformance, Rule03_DeliveredIsInTheTargetsMemory) {
  Link& l = link(0, 1);
  for (size_t bytes : {size_t(1), size_t(8), size_t(64), size_t(1000), size_t(300'000)}) {
    Buffer& from = buffer(0, bytes);
    Buffer& to = buffer(1, bytes, Access::write);
    from.fill(uint8_t(bytes));
    RemoteRegion* remote = l.a.import(to);
    ASSERT_NE(remote, nullptr);
    uint64_t cookie = next_cookie();
    ASSERT_TRUE(put_bytes(l.a, from, remote, {0, 0}, When::delivered, cookie));
    ASSERT_TRUE(pump([&] { return rank(0).count(cookie) != 0; }));
    ASSERT_EQ(rank(0).oks(cookie), 1);
    EXPECT_TRUE(to.holds(uint8_t(bytes))) << bytes;
  }
}

// After `reusable` the source may be written to, and what lands is what was there before.
TEST_P(Conformance, Rule03_ReusableFreesTheSource) {
  Link& l = link(0, 1);
  uint64_t signals = 0;
  for (size_t bytes : {size_t(1), size_t(100), size_t(4096), size_t(60'000)}) {
    bytes = std::min(bytes, caps().max_transfer);
    Buffer& from = buffer(0, bytes);
    Buffer& to = buffer(1, bytes, Access::write);
    RemoteRegion* remote = l.a.import(to);
    ASSERT_NE(remote, nullptr);
    from.fill(8);
    uint64_t cookie = next_cookie();
    ASSERT_TRUE(put_bytes(l.a, from, remote, {1, 1}, When::reusable, cookie));
    ASSERT_TRUE(pump([&] { return rank(0).count(cookie) != 0; }));
    ASSERT_EQ(rank(0).oks(cookie), 1);
    from.fill(9);
    ++signals;
    ASSERT_TRUE(pump([&] { return l.b.end->counter(1) == signals; }));
    EXPECT_TRUE(to.holds(8)) << bytes;
  }
}

// Every Done wanted comes once, none that was not.
TEST_P(Conformance, Rule03_EveryDoneComesOnce) {
  Link& l = link(0, 1);
  Buffer& from = buffer(0, 128);
  Buffer& to = buffer(1, 128, Access::write);
  from.fill(4);
  RemoteRegion* remote = l.a.import(to);
  ASSERT_NE(remote, nullptr);
  std::vector<Transfer> all;
  for (int i = 0; i < 90; ++i) {
    When when = i % 3 == 0 ? When::never : i % 3 == 1 ? When::reusable : When::delivered;
    all.push_back(
        put(from.local(0, 128), remote->slice(0, 128).value(), {uint16_t(i % 2), 1}, when, next_cookie()));
  }
  ASSERT_TRUE(post_all(l.a, all));
  ASSERT_TRUE(pump(
      [&] { return rank(0).dones.size() >= 60 && l.b.end->counter(0) == 45 && l.b.end->counter(1) == 45; }));
  for (int i = 0; i < 50; ++i) poll_all();
  for (const Transfer& t : all) EXPECT_EQ(rank(0).oks(t.cookie), t.when == When::never ? 0 : 1);
  EXPECT_EQ(rank(0).dones.size(), 60u);
  EXPECT_TRUE(rank(1).dones.empty());
}

}  // namespace
}  // namespace plait::transport::conformance
