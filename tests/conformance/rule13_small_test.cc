// Rule 13: small messages.
#include <thread>

#include "conformance/fixture.h"

namespace plait::transport::conformance {
namespace {

// word_last: a reader that watches the last word of a 64-byte put in its memory sees the other 56 bytes with
// it, though it neither polls nor awaits the signal.
TEST_P(Conformance, Rule13_TheLastWordAppearsLast) {
  if (!caps().word_last) GTEST_SKIP() << "this back end does not claim word_last";
  if (caps().target_must_poll) GTEST_SKIP() << "on this back end nothing lands unless the target polls";
  constexpr uint64_t kRounds = 600;
  constexpr size_t kSlots = 32;
  Link& l = link(0, 1);
  Buffer& from = buffer(0, 64 * kSlots);
  Buffer& to = buffer(1, 64 * kSlots, Access::both);
  RemoteRegion* remote = l.a.import(to);
  ASSERT_NE(remote, nullptr);
  std::atomic<uint64_t> seen{0};
  std::atomic<bool> torn{false}, stop{false};
  std::thread reader([&] {
    for (uint64_t i = 1; i <= kRounds && !stop.load(std::memory_order_relaxed); ++i) {
      auto* words = reinterpret_cast<uint64_t*>(to.data() + 64 * (i % kSlots));
      std::atomic_ref<uint64_t> last(words[7]);
      while (last.load(std::memory_order_acquire) != i && !stop.load(std::memory_order_relaxed)) {
        std::this_thread::yield();
      }
      for (size_t w = 0; w < 7; ++w) {
        if (words[w] != i && !stop.load()) torn.store(true);
      }
      seen.store(i, std::memory_order_release);
    }
  });
  Deadline deadline = Deadline::in_ms(kPatienceMs);
  for (uint64_t i = 1; i <= kRounds && !deadline.passed() && !torn.load(); ++i) {
    size_t at = 64 * (i % kSlots);
    while (seen.load(std::memory_order_acquire) + kSlots <= i && !deadline.passed()) rank(0).poll();
    auto* words = reinterpret_cast<uint64_t*>(from.data() + at);
    for (size_t w = 0; w < 8; ++w) words[w] = i;
    Transfer t = put(from.local(at, 64), remote->slice(at, 64).value());
    while (l.a.end->post({&t, 1}) == 0 && !deadline.passed()) rank(0).poll();
  }
  while (seen.load(std::memory_order_acquire) < kRounds && !deadline.passed() && !torn.load()) rank(0).poll();
  stop.store(true);
  reader.join();
  EXPECT_FALSE(torn.load()) << "round " << seen.load();
  EXPECT_TRUE(torn.load() || seen.load() == kRounds) << "stuck at round " << seen.load();
}

// Up to inline_bytes the source may be reused as soon as post() returns, and needs no region.
TEST_P(Conformance, Rule13_InlineSourcesAreFreeAtOnce) {
  if (caps().inline_bytes == 0) GTEST_SKIP() << "this back end sends nothing inline";
  Link& l = link(0, 1);
  constexpr size_t kRounds = 40;
  size_t bytes = std::min<size_t>(caps().inline_bytes, 512);
  Buffer& to = buffer(1, bytes * kRounds, Access::write);
  RemoteRegion* remote = l.a.import(to);
  ASSERT_NE(remote, nullptr);
  Bytes source(bytes);
  for (size_t i = 0; i < kRounds; ++i) {
    std::fill(source.begin(), source.end(), std::byte(i + 1));
    Transfer t = put({source.data(), bytes, nullptr}, remote->slice(i * bytes, bytes).value(), {1, 1});
    ASSERT_TRUE(pump([&] { return l.a.end->post({&t, 1}) == 1; }));
    std::fill(source.begin(), source.end(), std::byte{0xff});
  }
  ASSERT_TRUE(pump([&] { return l.b.end->counter(1) == kRounds; }));
  for (size_t i = 0; i < kRounds; ++i) {
    EXPECT_EQ(std::count(to.data() + i * bytes, to.data() + (i + 1) * bytes, std::byte(i + 1)),
              ptrdiff_t(bytes))
        << i;
  }
}

// A source without a region, longer than inline, where the back end says it needs none.
TEST_P(Conformance, Rule13_PlainSourcesWhereAllowed) {
  if (caps().local_needs_region) GTEST_SKIP() << "this back end moves from exposed memory only";
  Link& l = link(0, 1);
  size_t bytes = std::min<size_t>(caps().inline_bytes + 3000, caps().max_transfer);
  Buffer& to = buffer(1, bytes, Access::write);
  RemoteRegion* remote = l.a.import(to);
  ASSERT_NE(remote, nullptr);
  Bytes source(bytes, std::byte{0x3c});
  ASSERT_TRUE(post_one(l.a, put({source.data(), bytes, nullptr}, remote->slice(0, bytes).value(), {1, 1})));
  ASSERT_TRUE(pump([&] { return l.b.end->counter(1) == 1; }));
  EXPECT_TRUE(to.all(std::byte{0x3c}));
}

// Unaligned small puts write their own bytes and no others.
TEST_P(Conformance, Rule13_SmallPutsKeepToTheirBytes) {
  Link& l = link(0, 1);
  Buffer& from = buffer(0, 256);
  Buffer& to = buffer(1, 256, Access::write);
  RemoteRegion* remote = l.a.import(to);
  ASSERT_NE(remote, nullptr);
  std::fill_n(from.data(), from.size(), std::byte{1});
  uint64_t posted = 0;
  for (size_t bytes = 1; bytes <= 72; bytes += 3) {
    for (size_t offset = 64; offset < 73; ++offset) {
      std::fill_n(to.data(), to.size(), std::byte{0});
      ASSERT_TRUE(post_one(l.a, put(from.local(3, bytes), remote->slice(offset, bytes).value(), {0, 1})));
      ++posted;
      ASSERT_TRUE(pump([&] { return l.b.end->counter(0) == posted; }));
      EXPECT_EQ(std::count(to.data() + offset, to.data() + offset + bytes, std::byte{1}), ptrdiff_t(bytes));
      EXPECT_EQ(std::count(to.data(), to.data() + 256, std::byte{1}), ptrdiff_t(bytes))
          << bytes << " at " << offset;
    }
  }
}

}  // namespace
}  // namespace plait::transport::conformance
