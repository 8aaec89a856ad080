// What every transfer rests on: connecting, signals, depth.
#include <atomic>
#include <thread>

#include "conformance/fixture.h"

namespace plait::transport::conformance {
namespace {

TEST_P(Conformance, Basics_NamesAndReach) {
  EXPECT_FALSE(rank(0).domain->name().empty());
  EXPECT_GE(caps().counters, 4);
  EXPECT_GE(caps().depth, 2);
  EXPECT_GE(caps().max_add, 1);
  EXPECT_GE(caps().max_transfer, 4096u);
  for (int i = 0; i < kRanks; ++i) {
    for (int j = 0; j < kRanks; ++j) EXPECT_TRUE(rank(i).domain->reaches(rank(j).domain->identity()));
  }
  EXPECT_FALSE(rank(0).domain->reaches({}));
  std::byte noise[64] = {};
  EXPECT_FALSE(rank(0).domain->reaches(noise));
}

TEST_P(Conformance, Basics_ConnectInEitherOrder) {
  for (int first = 0; first < 2; ++first) {
    Side a = open(0, 1), b = open(1, 1);
    EXPECT_EQ(a.end->state(), State::opened);
    Side& one = first == 0 ? a : b;
    Side& two = first == 0 ? b : a;
    ASSERT_TRUE(one.end->connect(two.end->ticket()).ok());
    for (int i = 0; i < 20; ++i) poll_all();  // nobody answers yet
    ASSERT_TRUE(two.end->connect(one.end->ticket()).ok());
    ASSERT_TRUE(make_ready(a, b));
    ASSERT_TRUE(post_one(a, signal_only({0, 1})));
    ASSERT_TRUE(post_one(b, signal_only({0, 1})));
    EXPECT_TRUE(pump([&] { return a.end->counter(0) == 1 && b.end->counter(0) == 1; }));
    EXPECT_EQ(a.end->connect(b.end->ticket()).code(), Code::state);
  }
}

TEST_P(Conformance, Basics_ConnectToOneself) {
  Link& l = link(0, 0);
  Buffer& from = buffer(0, 1000);
  Buffer& to = buffer(0, 1000, Access::write);
  from.fill(1);
  RemoteRegion* remote = l.a.import(to);
  ASSERT_NE(remote, nullptr);
  ASSERT_TRUE(put_bytes(l.a, from, remote, {1, 1}, When::never, 0));
  ASSERT_TRUE(pump([&] { return l.b.end->counter(1) == 1; }));
  EXPECT_TRUE(to.holds(1));
}

// The peer need not run while a key is imported.
TEST_P(Conformance, Basics_ImportBeforeThePeerIsThere) {
  Side a = open(0, 2), b = open(1, 2);
  Buffer& to = buffer(1, 64, Access::write);
  auto early = a.end->import(to.region->key());  // which peer? no back end must know
  EXPECT_TRUE(early.ok() || early.status().code() == Code::state) << early.status().text();
  ASSERT_TRUE(a.end->connect(b.end->ticket()).ok());
  early = a.end->import(to.region->key());
  bool late = !early.ok() && early.status().code() == Code::state;  // shared memory comes with the connection
  EXPECT_TRUE(early.ok() || late) << early.status().text();
  ASSERT_TRUE(b.end->connect(a.end->ticket()).ok());
  ASSERT_TRUE(make_ready(a, b));
  if (late) early = a.end->import(to.region->key());
  ASSERT_TRUE(early.ok()) << early.status().text();
  RemoteRegion* remote = early->get();
  EXPECT_EQ(remote->bytes(), 64u);
  EXPECT_EQ(remote->access(), Access::write);
  Buffer& from = buffer(0, 64);
  from.fill(2);
  ASSERT_TRUE(put_bytes(a, from, remote, {0, 1}, When::never, 0));
  EXPECT_TRUE(pump([&] { return b.end->counter(0) == 1; }));
  EXPECT_TRUE(to.holds(2));
  a.remotes.clear();
}

TEST_P(Conformance, Basics_SignalsAlone) {
  Link& l = link(0, 1);
  ASSERT_TRUE(post_one(l.a, signal_only({0, 1})));
  ASSERT_TRUE(post_one(l.a, signal_only({1, 1}, When::delivered, 77)));
  ASSERT_TRUE(post_one(l.b, signal_only({1, 1})));
  ASSERT_TRUE(pump([&] {
    return l.b.end->counter(0) == 1 && l.b.end->counter(1) == 1 && l.a.end->counter(1) == 1 &&
           rank(0).count(77) == 1;
  }));
  EXPECT_EQ(l.a.end->counter(0), 0u);
  EXPECT_EQ(rank(0).oks(77), 1);
}

TEST_P(Conformance, Basics_AddsSumUp) {
  Link& l = link(0, 1);
  uint16_t most = caps().max_add;
  uint64_t want = 0;
  for (uint16_t add : {uint16_t(1), most, uint16_t((most + 1) / 2), most}) {
    ASSERT_TRUE(post_one(l.a, signal_only({1, add})));
    want += add;
  }
  EXPECT_TRUE(pump([&] { return l.b.end->counter(1) >= want; }));
  for (int i = 0; i < 50; ++i) poll_all();
  EXPECT_EQ(l.b.end->counter(1), want);
  EXPECT_EQ(l.b.end->counter(0), 0u);
}

TEST_P(Conformance, Basics_AddZeroMovesNoCounter) {
  Link& l = link(0, 1);
  ASSERT_TRUE(post_one(l.a, signal_only({0, 0}, When::delivered, 5)));
  ASSERT_TRUE(pump([&] { return rank(0).count(5) == 1; }));
  EXPECT_EQ(rank(0).oks(5), 1);
  for (int i = 0; i < 50; ++i) poll_all();
  EXPECT_EQ(l.b.end->counter(0), 0u);
}

// post() takes a prefix; the Dones it owes come without a further post, and then it has room again.
TEST_P(Conformance, Basics_DepthGivesAPrefixAndRecovers) {
  Link& l = link(0, 1);
  size_t many = size_t(caps().depth) * 3 + 5;
  std::vector<Transfer> all;
  for (size_t i = 0; i < many; ++i) all.push_back(signal_only({0, 1}, When::delivered, next_cookie()));
  size_t taken = l.a.end->post(all);
  EXPECT_GE(taken, 1u);
  EXPECT_LE(taken, caps().depth);
  ASSERT_TRUE(pump([&] { return rank(0).dones.size() >= taken; }));
  std::vector<Transfer> rest(all.begin() + ptrdiff_t(taken), all.end());
  ASSERT_TRUE(post_all(l.a, rest));
  ASSERT_TRUE(pump([&] { return rank(0).dones.size() >= many && l.b.end->counter(0) >= many; }));
  for (const Transfer& t : all) ASSERT_EQ(rank(0).oks(t.cookie), 1);
  EXPECT_EQ(l.b.end->counter(0), many);
  EXPECT_EQ(l.a.end->state(), State::ready);
}

// Dones that nobody takes count too: nothing is queued without bound, and an array of `depth` Dones holds
// all.
TEST_P(Conformance, Basics_UnharvestedDonesStopPost) {
  Link& l = link(0, 1);
  size_t taken = 0;
  Transfer one = signal_only({0, 1}, When::delivered, next_cookie());
  for (int i = 0; i < 3 * int(caps().depth) + 50; ++i) {
    taken += l.a.end->post({&one, 1});
    EXPECT_EQ(rank(0).domain->poll({}), 0u);
    EXPECT_EQ(rank(1).domain->poll({}), 0u);
  }
  EXPECT_GE(taken, 1u);
  EXPECT_LE(taken, caps().depth);
  EXPECT_TRUE(pump([&] { return rank(0).oks(one.cookie) == int(taken); }));
  ASSERT_TRUE(post_one(l.a, one));
  EXPECT_TRUE(pump([&] { return rank(0).oks(one.cookie) == int(taken) + 1; }));
}

// What post() takes is never lost for want of room at a target that does not poll.
TEST_P(Conformance, Basics_SignalCreditsStopPost) {
  Link& l = link(0, 1);
  size_t most = caps().signals == 0 ? 5000 : std::min<size_t>(size_t(caps().signals) * 2, 20'000), taken = 0;
  Transfer one = signal_only({0, 1});
  for (size_t idle = 0; idle < 200 && taken < most; ++idle) {
    while (taken < most && l.a.end->post({&one, 1}) == 1) ++taken, idle = 0;
    rank(0).poll();
  }
  ASSERT_GE(taken, 1u);
  EXPECT_TRUE(pump([&] { return l.b.end->counter(0) >= taken; }));
  ASSERT_TRUE(post_one(l.a, one));
  EXPECT_TRUE(pump([&] { return l.b.end->counter(0) == taken + 1; }));
}

TEST_P(Conformance, Basics_AnEmptySpanOnlyProgresses) {
  Link& l = link(0, 1);
  ASSERT_TRUE(post_one(l.a, signal_only({0, 1}, When::delivered, 9)));
  Deadline deadline = Deadline::in_ms(kPatienceMs);
  while (l.b.end->counter(0) == 0 && !deadline.passed()) {
    EXPECT_EQ(rank(0).domain->poll({}), 0u);
    EXPECT_EQ(rank(1).domain->poll({}), 0u);
  }
  EXPECT_EQ(l.b.end->counter(0), 1u);
  EXPECT_TRUE(pump([&] { return rank(0).oks(9) == 1; }));
}

TEST_P(Conformance, Basics_ManyEndpoints) {
  constexpr int kMany = 16;
  std::vector<Link*> links;
  std::vector<Buffer*> from, to;
  for (int i = 0; i < kMany; ++i) {
    links.push_back(&link(0, 1 + i % 2));
    from.push_back(&buffer(0, 300));
    to.push_back(&buffer(1 + i % 2, 300, Access::write));
    from.back()->fill(uint8_t(i));
    RemoteRegion* remote = links.back()->a.import(*to.back());
    ASSERT_NE(remote, nullptr);
    ASSERT_TRUE(put_bytes(links.back()->a, *from.back(), remote, {1, 1}, When::never, 0));
  }
  for (size_t i = 0; i < kMany; ++i) {
    ASSERT_TRUE(pump([&] { return links[i]->b.end->counter(1) == 1; })) << i;
    EXPECT_TRUE(to[i]->holds(uint8_t(i))) << i;
  }
}

TEST_P(Conformance, Basics_TooManyCountersAreRefused) {
  if (caps().counters == UINT16_MAX) GTEST_SKIP() << "this back end has as many counters as a number can say";
  auto end = rank(0).domain->open(uint16_t(caps().counters + 1), 1);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.status().code(), Code::invalid);
}

TEST_P(Conformance, Basics_ExposeFromAnotherThread) {
  Link& l = link(0, 1);
  Memory scratch = world().allocate(1, 8192);
  std::atomic<bool> stop{false};
  std::atomic<int> exposed{0};
  Domain& domain = *rank(1).domain;
  std::thread other([&] {
    while (!stop.load(std::memory_order_relaxed) && exposed.load() < 500) {
      auto region = domain.expose(scratch, Access::both);
      if (!region.ok() || (*region)->key().empty()) break;
      exposed.fetch_add(1);
    }
  });
  uint64_t sent = 0;
  bool fine = pump([&] {
    Transfer one = signal_only({0, 1});
    if (sent < 500) sent += l.a.end->post({&one, 1});
    return exposed.load() >= 100 && l.b.end->counter(0) == 500;
  });
  stop.store(true);
  other.join();
  EXPECT_TRUE(fine) << exposed.load() << " regions, " << sent << " signals";
}

INSTANTIATE_TEST_SUITE_P(Transport, Conformance, testing::ValuesIn(backends()),
                         [](const testing::TestParamInfo<Backend>& one) { return one.param.name; });

}  // namespace
}  // namespace plait::transport::conformance
