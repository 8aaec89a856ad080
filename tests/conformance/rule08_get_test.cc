// Rule 8: gets of every size, puts only under a grant, no poll that copies for long, and errors instead of
// short data.
#include <algorithm>

#include "conformance/fixture.h"

namespace plait::transport::conformance {
namespace {

TEST_P(Conformance, Rule08_GetsOfManySizes) {
  if (!caps().get) GTEST_SKIP() << "this back end has no get";
  Link& l = link(0, 1);
  for (size_t bytes :
       {size_t(1), size_t(7), size_t(4096), size_t(256 * 1024), size_t(256 * 1024 + 1), size_t(3 << 20)}) {
    Buffer& source = buffer(1, bytes, Access::read);
    Buffer& into = buffer(0, bytes);
    source.fill(uint8_t(bytes / 3));
    RemoteRegion* remote = l.a.import(source);
    ASSERT_NE(remote, nullptr);
    size_t most = std::min(bytes, caps().max_transfer), parts = 0;
    uint64_t cookie = next_cookie();
    for (size_t at = 0; at < bytes; at += most, ++parts) {
      size_t n = std::min(most, bytes - at);
      ASSERT_TRUE(
          post_one(l.a, get(into.local(at, n), remote->slice(at, n).value(), cookie, uint16_t(parts % 2))));
    }
    ASSERT_TRUE(pump([&] { return rank(0).count(cookie) == int(parts); })) << bytes;
    ASSERT_EQ(rank(0).oks(cookie), int(parts));
    EXPECT_TRUE(into.holds(uint8_t(bytes / 3))) << bytes;
  }
}

TEST_P(Conformance, Rule08_GetsAtOffsets) {
  if (!caps().get) GTEST_SKIP() << "this back end has no get";
  Link& l = link(0, 1);
  Buffer& source = buffer(1, 5000, Access::both);
  Buffer& into = buffer(0, 5000);
  source.fill(6);
  RemoteRegion* remote = l.a.import(source);
  ASSERT_NE(remote, nullptr);
  ASSERT_TRUE(post_one(l.a, get(into.local(1001, 333), remote->slice(1001, 333).value(), 1)));
  ASSERT_TRUE(pump([&] { return rank(0).oks(1) == 1; }));
  EXPECT_TRUE(into.holds(6, 1001, 333));
  auto zero = [&](size_t from, size_t to) {
    return std::all_of(into.data() + from, into.data() + to, [](std::byte b) { return b == std::byte{0}; });
  };
  EXPECT_TRUE(zero(0, 1001) && zero(1334, 5000)) << "a get wrote beside its slice";
}

// No poll copies more than 256 KiB, so that a rank with one big transfer still answers for its small ones.
TEST_P(Conformance, Rule08_PollsCopyLittle) {
  if (!GetParam().moves_in_poll) GTEST_SKIP() << "hardware moves the bytes of this back end";
  constexpr size_t kBytes = 2 << 20, kMost = 256 * 1024;
  Link& l = link(0, 1);
  Buffer& from = buffer(0, kBytes);
  Buffer& to = buffer(1, kBytes, Access::write);
  std::fill_n(from.data(), kBytes, std::byte{0xee});
  RemoteRegion* remote = l.a.import(to);
  ASSERT_NE(remote, nullptr);
  auto landed = [&] { return size_t(std::count(to.data(), to.data() + kBytes, std::byte{0xee})); };
  size_t part = std::min(kBytes, caps().max_transfer), posted = 0, before = 0, most = 0;
  auto step = [&](int i) {
    rank(i).poll();
    size_t now = landed();
    most = std::max(most, now - before);
    before = now;
  };
  Deadline deadline = Deadline::in_ms(kPatienceMs);
  while (before < kBytes && !deadline.passed()) {
    if (posted < kBytes) {
      Transfer t = put(from.local(posted, part), remote->slice(posted, part).value());
      posted += part * l.a.end->post({&t, 1});
      size_t now = landed();
      EXPECT_LE(now - before, kMost) << "post() copied much";
      before = now;
    }
    step(0);
    step(1);
  }
  EXPECT_EQ(before, kBytes);
  EXPECT_LE(most, kMost);
}

// A region taken away under a get or put gives an error, never a short answer that says ok.
TEST_P(Conformance, Rule08_ARevokedRegionIsAnError) {
  for (Verb verb : {Verb::put, Verb::get}) {
    if (verb == Verb::get && !caps().get) continue;
    Link& l = link(0, 1);
    Buffer& own = buffer(0, 4096);
    Buffer& far = buffer(1, 4096, Access::both);
    RemoteRegion* remote = l.a.import(far);
    ASSERT_NE(remote, nullptr);
    RemoteSlice slice = remote->slice(0, 4096).value();
    far.region.reset();
    own.fill(1);
    Transfer t = put(own.local(0, 4096), slice, {0, 1}, When::delivered, next_cookie());
    if (verb == Verb::get) t = get(own.local(0, 4096), slice, next_cookie());
    EXPECT_TRUE(fails(l.a, t)) << (verb == Verb::put ? "put" : "get");
    EXPECT_EQ(l.b.end->counter(0), 0u);
    EXPECT_TRUE(far.all(std::byte{0})) << "bytes landed in memory that was taken back";
  }
}

TEST_P(Conformance, Rule08_ARegionRevokedInMidGet) {
  if (!caps().get) GTEST_SKIP() << "this back end has no get";
  Link& l = link(0, 1);
  size_t bytes = std::min<size_t>(caps().max_transfer, 4 << 20);
  Buffer& into = buffer(0, bytes);
  Buffer& far = buffer(1, bytes, Access::read);
  far.fill(5);
  RemoteRegion* remote = l.a.import(far);
  ASSERT_NE(remote, nullptr);
  Transfer t = get(into.local(0, bytes), remote->slice(0, bytes).value(), next_cookie());
  ASSERT_TRUE(post_one(l.a, t));
  poll_all();
  far.region.reset();
  std::fill_n(far.data(), bytes, std::byte{0});
  ASSERT_TRUE(pump([&] { return rank(0).count(t.cookie) == 1; }));
  if (rank(0).oks(t.cookie) == 1) {
    EXPECT_TRUE(into.holds(5)) << "ok, but not the bytes";
  }
}

}  // namespace
}  // namespace plait::transport::conformance
