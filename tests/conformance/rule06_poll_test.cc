// Rule 6: who waits, polls. Where target_must_poll is not claimed, bytes land while the target does nothing.
#include <algorithm>
#include <cstring>

#include "conformance/fixture.h"

namespace plait::transport::conformance {
namespace {

TEST_P(Conformance, Rule06_BytesLandWithoutTheTarget) {
  if (caps().target_must_poll) GTEST_SKIP() << "on this back end nothing lands unless the target polls";
  Link& l = link(0, 1);
  Buffer& from = buffer(0, 50'000);
  Buffer& to = buffer(1, 50'000, Access::both);
  from.fill(1);
  RemoteRegion* remote = l.a.import(to);
  ASSERT_NE(remote, nullptr);
  ASSERT_TRUE(put_bytes(l.a, from, remote, {0, 1}, When::delivered, 1));
  Deadline deadline = Deadline::in_ms(kPatienceMs);
  while (rank(0).count(1) == 0 && !deadline.passed()) rank(0).poll();
  ASSERT_EQ(rank(0).oks(1), 1);
  EXPECT_TRUE(to.holds(1));
  EXPECT_TRUE(pump([&] { return l.b.end->counter(0) == 1; }));
}

TEST_P(Conformance, Rule06_GetsNeedNoTarget) {
  if (!caps().get) GTEST_SKIP() << "this back end has no get";
  if (caps().target_must_poll) GTEST_SKIP() << "on this back end nothing moves unless the target polls";
  Link& l = link(0, 1);
  Buffer& source = buffer(1, 4096, Access::read);
  Buffer& into = buffer(0, 4096);
  source.fill(2);
  RemoteRegion* remote = l.a.import(source);
  ASSERT_NE(remote, nullptr);
  Transfer t = get(into.local(0, 4096), remote->slice(0, 4096).value(), 1);
  ASSERT_EQ(l.a.end->post({&t, 1}), 1u);
  Deadline deadline = Deadline::in_ms(kPatienceMs);
  while (rank(0).count(1) == 0 && !deadline.passed()) rank(0).poll();
  ASSERT_EQ(rank(0).oks(1), 1);
  EXPECT_TRUE(into.holds(2));
}

// Who asked for no Dones polls until all has left, and may compute from then on.
TEST_P(Conformance, Rule06_WhatHasLeftArrives) {
  constexpr size_t kPuts = 200, kBytes = 5'000;
  Link& l = link(0, 1);
  Buffer& from = buffer(0, kBytes);
  Buffer& to = buffer(1, kPuts * kBytes, Access::write);
  from.fill(4);
  RemoteRegion* remote = l.a.import(to);
  ASSERT_NE(remote, nullptr);
  size_t posted = 0;
  const auto post_some = [&] {
    for (; posted < kPuts; ++posted) {
      const Transfer t = put(from.local(0, kBytes), remote->slice(posted * kBytes, kBytes).value(), {0, 1});
      if (l.a.end->post({&t, 1}) != 1) return;
    }
  };
  ASSERT_TRUE(pump([&] {
    post_some();
    return posted == kPuts && l.a.end->sent(0);
  }));
  const auto arrived = [&] { return l.b.end->counter(0) == kPuts; };
  for (Deadline deadline = Deadline::in_ms(kPatienceMs); !arrived() && !deadline.passed();) rank(1).poll();
  ASSERT_TRUE(arrived());
  for (size_t i = 0; i < kPuts; ++i)
    EXPECT_EQ(std::memcmp(to.data() + i * kBytes, from.data(), kBytes), 0) << i;
}

// Who received all polls until it was acknowledged, which may take a while where the way back is full.
TEST_P(Conformance, Rule06_AcknowledgementsThatWereSentArrive) {
  constexpr size_t kBytes = 30'000, kPuts = 8;
  Link& l = link(0, 1);
  Buffer &back = buffer(1, kBytes), &back_to = buffer(0, kBytes, Access::write);
  Buffer &from = buffer(0, kBytes), &to = buffer(1, kBytes, Access::write);
  RemoteRegion *there = l.b.import(back_to), *remote = l.a.import(to);
  ASSERT_TRUE(there != nullptr && remote != nullptr);
  const Transfer in_the_way = put(back.local(0, kBytes), there->slice(0, kBytes).value(), {0, 1});
  for (int i = 0; i < 1000 && l.b.end->sent(0) && l.b.end->post({&in_the_way, 1}) == 1; ++i) {
  }
  for (size_t i = 0; i < kPuts; ++i) {
    const auto counter = uint16_t(i % 2);
    ASSERT_TRUE(post_one(l.a, put(from.local(0, kBytes), remote->slice(0, kBytes).value(), {counter, 1},
                                  When::delivered, next_cookie())));
    for (int k = 0; k < 50; ++k) rank(1).poll();
  }
  const auto came = [&] { return l.b.end->counter(0) + l.b.end->counter(1) == kPuts; };
  ASSERT_TRUE(pump([&] { return came() && l.b.end->acks_sent(); }));
  const auto all_done = [&] { return std::ranges::count(rank(0).dones, Code::ok, &Done::status) == kPuts; };
  for (Deadline deadline = Deadline::in_ms(kPatienceMs); !all_done() && !deadline.passed();) rank(0).poll();
  EXPECT_TRUE(all_done());
}

// With the target polling everything lands, the sender asked for nothing and only polls itself.
TEST_P(Conformance, Rule06_EverythingLandsWhenBothPoll) {
  Link& l = link(0, 1);
  Buffer& from = buffer(0, 600'000);
  Buffer& to = buffer(1, 600'000, Access::write);
  from.fill(3);
  RemoteRegion* remote = l.a.import(to);
  ASSERT_NE(remote, nullptr);
  ASSERT_TRUE(put_bytes(l.a, from, remote, {1, 1}, When::never, 0));
  ASSERT_TRUE(pump([&] { return l.b.end->counter(1) == 1; }));
  EXPECT_TRUE(to.holds(3));
}

}  // namespace
}  // namespace plait::transport::conformance
