// Rule 4: who only receives learns of its peer's death by the endpoint's own cookie.
#include "conformance/fixture.h"

namespace plait::transport::conformance {
namespace {

TEST_P(Conformance, Rule04_APureReceiverLearnsOfDeath) {
  if (!caps().detects_death) GTEST_SKIP() << "this back end does not detect death: the runtime does";
  Link& dying = link(0, 1);
  Link& other = link(0, 2);
  kill(1);
  ASSERT_TRUE(pump([&] { return rank(0).count(dying.a.cookie) != 0; }));
  EXPECT_EQ(rank(0).oks(dying.a.cookie), 0);
  EXPECT_EQ(dying.a.end->state(), State::failed);
  EXPECT_FALSE(dying.a.end->error().empty());
  for (int i = 0; i < 50; ++i) poll_all();
  EXPECT_EQ(rank(0).count(dying.a.cookie), 1);
  EXPECT_EQ(rank(0).count(other.a.cookie), 0);
  // The others go on.
  ASSERT_TRUE(post_one(other.b, signal_only({0, 1})));
  EXPECT_TRUE(pump([&] { return other.a.end->counter(0) == 1; }));
}

// What was under way comes back with an error or had landed before; nothing waits for ever, no Done comes
// twice.
TEST_P(Conformance, Rule04_DeathReturnsWhatWasOutstanding) {
  if (!caps().detects_death) GTEST_SKIP() << "this back end does not detect death: the runtime does";
  Link& l = link(0, 1);
  Buffer& from = buffer(0, 4096);
  Buffer& to = buffer(1, 4096, Access::write);
  RemoteRegion* remote = l.a.import(to);
  ASSERT_NE(remote, nullptr);
  std::vector<Transfer> all;
  for (int i = 0; i < 8; ++i) {
    all.push_back(
        put(from.local(0, 4096), remote->slice(0, 4096).value(), {0, 1}, When::delivered, next_cookie()));
  }
  size_t taken = l.a.end->post(all);
  ASSERT_GE(taken, 1u);
  kill(1);
  ASSERT_TRUE(pump([&] { return rank(0).dones.size() > taken; }));
  for (size_t i = 0; i < taken; ++i) EXPECT_EQ(rank(0).count(all[i].cookie), 1);
  EXPECT_EQ(rank(0).count(l.a.cookie), 1);
  EXPECT_EQ(rank(0).oks(l.a.cookie), 0);
  EXPECT_EQ(l.a.end->post({&all[0], 1}), 0u);
}

// Where the back end cannot tell, the runtime closes: that must return what is outstanding.
TEST_P(Conformance, Rule04_CloseStandsInForDetection) {
  Link& l = link(0, 1);
  kill(1);
  Transfer t = signal_only({0, 1}, When::delivered, next_cookie());
  size_t taken = l.a.end->post({&t, 1});
  for (int i = 0; i < 50; ++i) rank(0).poll();
  l.a.end->close();
  ASSERT_TRUE(pump([&] { return rank(0).count(t.cookie) == int(taken); }));
  EXPECT_EQ(rank(0).oks(t.cookie), 0);
}

TEST_P(Conformance, Rule04_DeathWhileConnecting) {
  if (!caps().detects_death) GTEST_SKIP() << "this back end does not detect death: the runtime does";
  Side a = open(0, 1);
  {
    Side b = open(1, 1);
    ASSERT_TRUE(a.end->connect(b.end->ticket()).ok());
    rank(0).poll();
  }
  kill(1);
  EXPECT_TRUE(pump([&] { return a.end->state() == State::failed && rank(0).count(a.cookie) == 1; }));
  EXPECT_FALSE(a.end->error().empty());
}

}  // namespace
}  // namespace plait::transport::conformance
