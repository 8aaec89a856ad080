// Rule 11: after close() nothing lands and no local buffer is touched; every wanted cookie returns once.
#include "conformance/fixture.h"

namespace plait::transport::conformance {
namespace {

constexpr int kAWhile = 300;  // polls, of everybody

// The receiver closes under fire: delayed packets must not reach its memory or counters.
TEST_P(Conformance, Rule11_NothingLandsAfterClose) {
  constexpr size_t kBytes = 4096;
  for (int polls = 0; polls < 6; ++polls) {
    Link& l = link(0, 1);
    Buffer& from = buffer(0, kBytes);
    Buffer& to = buffer(1, kBytes, Access::write);
    from.fill(1);
    RemoteRegion* remote = l.a.import(to);
    ASSERT_NE(remote, nullptr);
    std::vector<Transfer> all;
    for (int i = 0; i < 12; ++i) {
      all.push_back(put(from.local(0, kBytes), remote->slice(0, kBytes).value(), {0, 1}, When::delivered,
                        next_cookie()));
    }
    size_t taken = l.a.end->post(all);
    for (int i = 0; i < polls; ++i) poll_all();
    l.b.end->close();
    EXPECT_EQ(l.b.end->state(), State::closed);
    uint64_t final = l.b.end->counter(0);
    std::fill_n(to.data(), kBytes, std::byte{0x55});
    for (int i = 0; i < kAWhile; ++i) poll_all();
    EXPECT_TRUE(to.all(std::byte{0x55})) << "bytes landed after close()";
    EXPECT_EQ(l.b.end->counter(0), final) << "a counter moved after close()";
    // A put posted now cannot have been delivered.
    Transfer late =
        put(from.local(0, kBytes), remote->slice(0, kBytes).value(), {0, 1}, When::delivered, next_cookie());
    size_t late_taken = l.a.end->post({&late, 1});
    for (int i = 0; i < kAWhile; ++i) poll_all();
    EXPECT_EQ(rank(0).oks(late.cookie), 0);
    EXPECT_TRUE(to.all(std::byte{0x55}));
    l.a.end->close();
    ASSERT_TRUE(pump([&] { return rank(0).count(late.cookie) == int(late_taken); }));
    for (size_t i = 0; i < taken; ++i) {
      ASSERT_TRUE(pump([&] { return rank(0).count(all[i].cookie) != 0; }))
          << "put " << i << " never came back";
      EXPECT_EQ(rank(0).count(all[i].cookie), 1);
    }
  }
}

// The sender closes: its sources are free, and what lands is from before.
TEST_P(Conformance, Rule11_SourcesAreFreeAfterClose) {
  constexpr size_t kBytes = 300'000;
  for (int polls = 0; polls < 4; ++polls) {
    Link& l = link(0, 1);
    size_t bytes = std::min(kBytes, caps().max_transfer);
    Buffer& from = buffer(0, bytes);
    Buffer& to = buffer(1, bytes, Access::write);
    std::fill_n(from.data(), bytes, std::byte{1});
    RemoteRegion* remote = l.a.import(to);
    ASSERT_NE(remote, nullptr);
    uint64_t cookie = next_cookie();
    Transfer t = put(from.local(0, bytes), remote->slice(0, bytes).value(), {0, 1}, When::delivered, cookie);
    size_t taken = l.a.end->post({&t, 1});
    for (int i = 0; i < polls; ++i) poll_all();
    l.a.end->close();
    std::fill_n(from.data(), bytes, std::byte{2});
    ASSERT_TRUE(pump([&] { return rank(0).count(cookie) == int(taken); }));
    for (int i = 0; i < kAWhile; ++i) poll_all();
    EXPECT_EQ(rank(0).count(cookie), int(taken));
    EXPECT_EQ(std::count(to.data(), to.data() + bytes, std::byte{2}), 0)
        << "close() did not stop the reading";
  }
}

TEST_P(Conformance, Rule11_NoGetWritesAfterClose) {
  if (!caps().get) GTEST_SKIP() << "this back end has no get";
  for (int polls = 0; polls < 4; ++polls) {
    Link& l = link(0, 1);
    size_t bytes = std::min<size_t>(caps().max_transfer, 1 << 20);
    Buffer& into = buffer(0, bytes);
    Buffer& far = buffer(1, bytes, Access::read);
    std::fill_n(far.data(), bytes, std::byte{1});
    RemoteRegion* remote = l.a.import(far);
    ASSERT_NE(remote, nullptr);
    Transfer t = get(into.local(0, bytes), remote->slice(0, bytes).value(), next_cookie());
    size_t taken = l.a.end->post({&t, 1});
    for (int i = 0; i < polls; ++i) poll_all();
    l.a.end->close();
    std::fill_n(into.data(), bytes, std::byte{7});
    ASSERT_TRUE(pump([&] { return rank(0).count(t.cookie) == int(taken); }));
    for (int i = 0; i < kAWhile; ++i) poll_all();
    EXPECT_TRUE(into.all(std::byte{7}));
  }
}

// What close() cuts off returns as aborted, once, even when the endpoint object has gone; its own cookie does
// not return.
TEST_P(Conformance, Rule11_CookiesReturnAborted) {
  for (bool destroy : {false, true}) {
    Link& l = link(0, 1);
    std::vector<Transfer> all;
    for (int i = 0; i < 10; ++i) all.push_back(signal_only({0, 1}, When::delivered, next_cookie()));
    size_t taken = l.a.end->post(all);
    l.a.end->close();
    l.a.end->close();  // twice is once
    if (destroy) l.a.end.reset();
    for (size_t i = 0; i < taken; ++i) {
      ASSERT_TRUE(pump([&] { return rank(0).count(all[i].cookie) != 0; }));
    }
    for (int i = 0; i < kAWhile; ++i) poll_all();
    for (size_t i = 0; i < taken; ++i) {
      for (const Done& d : rank(0).dones) {
        if (d.cookie == all[i].cookie) {
          EXPECT_TRUE(d.status == Code::ok || d.status == Code::aborted);
        }
      }
      EXPECT_EQ(rank(0).count(all[i].cookie), 1);
    }
    EXPECT_EQ(rank(0).count(l.a.cookie), 0);
  }
}

TEST_P(Conformance, Rule11_AClosedEndpointDoesNothing) {
  Link& l = link(0, 1);
  Buffer& to = buffer(1, 64, Access::write);
  ASSERT_TRUE(post_one(l.b, signal_only({1, 1})));
  ASSERT_TRUE(pump([&] { return l.a.end->counter(1) == 1; }));
  l.a.end->close();
  EXPECT_EQ(l.a.end->state(), State::closed);
  Transfer t = signal_only({0, 1}, When::delivered, next_cookie());
  EXPECT_EQ(l.a.end->post({&t, 1}), 0u);
  EXPECT_FALSE(l.a.end->import(to.region->key()).ok());
  EXPECT_FALSE(l.a.end->connect(l.b.end->ticket()).ok());
  EXPECT_EQ(l.a.end->counter(1), 1u) << "counters stay readable, and final";
  for (int i = 0; i < 20; ++i) poll_all();
  EXPECT_EQ(rank(0).count(t.cookie), 0);
}

TEST_P(Conformance, Rule11_CloseBeforeConnecting) {
  Side a = open(0, 1), b = open(1, 1);
  a.end->close();
  EXPECT_EQ(a.end->state(), State::closed);
  Status late = b.end->connect(a.end->ticket());  // it may learn now or later, or not at all
  for (int i = 0; i < kAWhile; ++i) poll_all();
  EXPECT_NE(b.end->state(), State::closed);
  (void)late;
}

// Endpoints are a communicator's own: closing one's does not disturb the other's between the same two
// domains.
TEST_P(Conformance, Rule11_OthersGoOn) {
  Link& mine = link(0, 1);
  Link& yours = link(0, 1);
  Buffer& from = buffer(0, 20'000);
  Buffer& to = buffer(1, 20'000, Access::write);
  RemoteRegion* doomed = mine.a.import(to);
  RemoteRegion* remote = yours.a.import(to);
  ASSERT_TRUE(doomed != nullptr && remote != nullptr);
  from.fill(1);
  Transfer t = put(from.local(0, 20'000), doomed->slice(0, 20'000).value(), {0, 1});
  (void)mine.a.end->post({&t, 1});
  mine.b.end->close();
  mine.a.end->close();
  for (uint8_t i = 1; i < 10; ++i) {
    from.fill(i);
    ASSERT_TRUE(put_bytes(yours.a, from, remote, {1, 1}, When::delivered, next_cookie()));
    ASSERT_TRUE(pump([&] { return yours.b.end->counter(1) == i; }));
    EXPECT_TRUE(to.holds(i));
  }
  EXPECT_EQ(yours.a.end->state(), State::ready);
  EXPECT_EQ(yours.b.end->state(), State::ready);
}

// Closed endpoints leave nothing behind that would run out.
TEST_P(Conformance, Rule11_OpenAndCloseManyTimes) {
  for (int i = 0; i < 40; ++i) {
    Side a = open(0, 2), b = open(1, 2);
    ASSERT_TRUE(a.end->connect(b.end->ticket()).ok());
    ASSERT_TRUE(b.end->connect(a.end->ticket()).ok());
    ASSERT_TRUE(make_ready(a, b)) << i;
    ASSERT_TRUE(post_one(a, signal_only({1, 1})));
    ASSERT_TRUE(pump([&] { return b.end->counter(1) == 1; })) << i;
    a.end->close();
  }
}

}  // namespace
}  // namespace plait::transport::conformance
