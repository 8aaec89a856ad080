#include "transport/hooks/trace.h"

#include "unit/hooks/pair.h"

namespace plait::transport::hooks {
namespace {

using TracePair = Pair<TraceDomain>;

TEST(TraceTest, RecordsWhatHappens) {
  TracePair p({});
  auto ring = p.hook->ring();
  ASSERT_TRUE(p.post(p.put(64, {1, 3}, When::delivered, 17)));
  ASSERT_TRUE(p.pump([&] { return p.a.dones.size() == 1; }));
  p.a.end->close();
  std::vector<TraceRecord> all = ring->records();
  ASSERT_EQ(all.size(), 5u);
  TraceEvent want[] = {TraceEvent::open, TraceEvent::connect, TraceEvent::post, TraceEvent::done,
                       TraceEvent::close};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(all[i].event, want[i]) << i;
    if (i > 0) {
      EXPECT_GE(all[i].at_ns, all[i - 1].at_ns);
    }
  }
  EXPECT_EQ(all[0].cookie, TracePair::kEndCookie);
  EXPECT_EQ(all[2].bytes, 64u);
  EXPECT_EQ(all[2].counter, 1);
  EXPECT_EQ(all[2].add, 3);
  EXPECT_EQ(all[2].cookie, 17u);
  EXPECT_EQ(all[2].when, When::delivered);
  EXPECT_EQ(all[3].cookie, 17u);
  EXPECT_EQ(all[3].status, Code::ok);
}

TEST(TraceTest, RefusedPostsAndErrorsShow) {
  fake::FakeOptions options;
  options.capabilities.depth = 2;
  TracePair p(options);
  Transfer t = p.put(64, {0, 1}, When::delivered, 1);
  Transfer three[] = {t, t, t};
  EXPECT_EQ(p.a.end->post(three), 2u);
  EXPECT_EQ(p.hook->ring()->records().back().event, TraceEvent::full);
  p.b.end->close();
  p.idle();
  EXPECT_EQ(p.hook->ring()->records().back().status, Code::peer);
}

TEST(TraceTest, TheRingKeepsTheLatest) {
  TracePair p({}, size_t(8));
  for (uint64_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(p.post(p.put(8, {0, 1}, When::delivered, i)));
    ASSERT_TRUE(p.pump([&] { return p.a.dones.size() == i + 1; }));
  }
  std::vector<TraceRecord> all = p.hook->ring()->records();
  ASSERT_EQ(all.size(), 8u);
  EXPECT_EQ(p.hook->ring()->total(), 102u);
  EXPECT_EQ(all.back().event, TraceEvent::done);
  EXPECT_EQ(all.back().cookie, 49u);
}

TEST(TraceTest, TextIsReadable) {
  auto pair = std::make_unique<TracePair>(fake::FakeOptions{}, size_t(4));
  auto ring = pair->hook->ring();
  ASSERT_TRUE(pair->post(pair->put(64, {1, 3}, When::delivered, 17)));
  ASSERT_TRUE(pair->pump([&] { return pair->a.dones.size() == 1; }));
  pair.reset();  // the ring outlives the domain, and has its end
  std::string text = ring->text();
  EXPECT_NE(text.find("put bytes=64 counter=1 add=3 when=delivered cookie=17"), std::string::npos) << text;
  EXPECT_NE(text.find("cookie=17 status=ok"), std::string::npos) << text;
  EXPECT_NE(text.find("close"), std::string::npos) << text;
  EXPECT_NE(text.find("overwritten"), std::string::npos) << text;
  EXPECT_EQ(TraceRing(4).text(), "");
}

}  // namespace
}  // namespace plait::transport::hooks
