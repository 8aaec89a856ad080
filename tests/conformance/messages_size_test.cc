// Point 12 of an NCCL net plugin's contract: sizes that differ between the two sides, and none at all. And
// what depends on sizes: in how many parts messages come, and which are copied past the cache.
#include "conformance/messages_fixture.h"
#include "support/all_are.h"

namespace plait::transport::conformance {
namespace {

// Of many messages under way together, no result stays in the cache; until none is.
TEST(MessageBursts, LastUntilNothingIsUnderWay) {
  constexpr uint64_t kEach = kPastCacheBytes / 8;
  MessageBurst burst;
  EXPECT_TRUE(burst.past_cache(kPastCacheBytes, false));
  for (int i = 0; i < 7; i++) burst.begin(kEach);
  EXPECT_FALSE(burst.past_cache(kEach, true));
  burst.begin(kEach);
  EXPECT_TRUE(burst.past_cache(kEach, true));
  EXPECT_FALSE(burst.past_cache(kEach, false));
  EXPECT_FALSE(burst.past_cache(1000, true));
  for (int i = 0; i < 7; i++) burst.end(kEach);
  EXPECT_TRUE(burst.past_cache(kEach, true));
  burst.end(kEach);
  EXPECT_FALSE(burst.past_cache(kEach, true));
}

// What is one part is announced as one or as two halves, never as anything else; halves hold all of it.
TEST(MessageParts, OneOrTwoHalves) {
  for (const uint64_t bytes : {uint64_t{2}, uint64_t{8193}, uint64_t{16383}, uint64_t{kStreamPartBytes}}) {
    EXPECT_TRUE(are_parts_of(1, bytes) && are_parts_of(2, bytes)) << bytes;
    EXPECT_FALSE(are_parts_of(0, bytes) || are_parts_of(3, bytes)) << bytes;
    EXPECT_EQ(part_bytes(1, bytes), kStreamPartBytes);
    EXPECT_TRUE(part_bytes(2, bytes) < bytes && 2 * part_bytes(2, bytes) >= bytes) << bytes;
  }
  EXPECT_FALSE(are_parts_of(2, 1));
  EXPECT_FALSE(are_parts_of(1, kStreamPartBytes + 1));
  EXPECT_EQ(part_bytes(2, kStreamPartBytes + 1), kStreamPartBytes);
}

TEST(MessageRings, UnitsHoldAllBytesAndNoMoreThanTheyMust) {
  for (const MessageRings& rings : {kRings, kMappedRings[0], kMappedRings[1]}) {
    for (uint32_t bytes = 0; bytes <= kFarEagerBytes; bytes++) {
      const uint32_t units = rings.units_of(bytes);
      ASSERT_TRUE(bytes <= kInlineBytes
                      ? units == 1
                      : units * rings.unit_bytes >= bytes && (units - 1) * rings.unit_bytes < bytes)
          << bytes << " bytes, units of " << rings.unit_bytes;
    }
  }
}

TEST_P(Messages, Point12_ReceivesMayBeLongerThanTheirMessages) {
  Pair& p = pair();
  uint8_t seed = 1;
  for (size_t room : {size_t(100), kLong, size_t(500'000)}) {
    for (size_t bytes : {size_t(0), size_t(60), size_t(100), kLong - 1, kLong + 5, size_t(400'000)}) {
      if (bytes > room) continue;
      Buffer &from = source(0, bytes + 1, ++seed), &to = target(1, room);
      MessageRequest* receive = p.b.link->receive(1, slice(to));
      MessageRequest* send = p.a.link->send(1, slice(from, bytes));
      ASSERT_TRUE(finish(receive) && finish(send));
      EXPECT_TRUE(receive->status().ok()) << receive->status().text();
      EXPECT_EQ(receive->bytes()[0], bytes);
      EXPECT_EQ(send->bytes()[0], bytes);
      EXPECT_TRUE(to.holds(seed, 0, bytes));
      EXPECT_TRUE(plait::test::all_are(to.data() + bytes, room - bytes, std::byte{0}));
      p.a.link->release(send);
      p.b.link->release(receive);
    }
  }
}

TEST_P(Messages, Point12_ZeroBytesEndOnBothSides) {
  Pair& p = pair();
  for (bool late : {false, true}) {
    MessageRequest* receive = late ? nullptr : p.b.link->receive(3, {});
    MessageRequest* send = p.a.link->send(3, {});
    ASSERT_TRUE(finish(send));
    if (late) receive = p.b.link->receive(3, {});
    ASSERT_TRUE(finish(receive));
    EXPECT_EQ(receive->bytes()[0], 0u);
  }
  // More than the units hold: these ask, and come all the same.
  std::vector<MessageRequest*> sends;
  while (MessageRequest* s = p.a.link->send(4, {})) {
    sends.push_back(s);
    step_all();
  }
  for (size_t i = 0; i < sends.size(); ++i) {
    MessageRequest* receive = p.b.link->receive(4, {});
    ASSERT_TRUE(finish(receive) && finish(sends[i])) << i;
    p.b.link->release(receive);
  }
}

// The message is longer than its slot: each way that it can be found out. Both sides learn it where both can,
// and what comes after is not disturbed.
TEST_P(Messages, Point12_MessagesLongerThanTheirReceiveAreErrors) {
  struct Case {
    size_t bytes, room;
    bool sender_learns;
  };
  for (const Case& c : {Case{200, 100, false}, Case{kLong, 100, true}, Case{kLong, kLong - 1, true},
                        Case{kLong, 0, true}, Case{300'000, kEagerBytes + 1, true}}) {
    for (bool late : {false, true}) {
      SCOPED_TRACE(std::to_string(c.bytes) + " into " + std::to_string(c.room) + (late ? ", late" : ""));
      Pair& p = pair();
      Buffer &from = source(0, c.bytes, 1), &to = target(1, c.room + 64);
      MessageRequest* receive = late ? nullptr : p.b.link->receive(1, slice(to, c.room));
      for (int i = 0; i < 30; ++i) step_all();
      MessageRequest* send = p.a.link->send(1, slice(from));
      for (int i = 0; i < 30; ++i) step_all();
      if (late) receive = p.b.link->receive(1, slice(to, c.room));
      ASSERT_TRUE(finish(receive) && finish(send));
      EXPECT_EQ(receive->status().code(), Code::mismatch);
      EXPECT_NE(receive->status().text().find(std::to_string(c.bytes) + " bytes with tag 1"),
                std::string_view::npos)
          << receive->status().text();
      EXPECT_EQ(send->status().code(), c.sender_learns ? Code::mismatch : Code::ok);
      EXPECT_TRUE(to.all(std::byte{0}));
      // Point 13: who tests another request finds it, too.
      EXPECT_EQ(p.b.link->trouble().code(), Code::mismatch);
      EXPECT_TRUE(p.a.link->status().ok() && p.b.link->status().ok());
      expect_message(p, 1, kLong, 7);
      expect_message(p, 1, 20, 8);
    }
  }
}

TEST_P(Messages, Point12_MoreReceivesThanSends) {
  Pair& p = pair();
  std::vector<MessageRequest*> receives;
  std::vector<Buffer*> to;
  for (int i = 0; i < 40; ++i) {
    to.push_back(&target(1, kLong));
    receives.push_back(p.b.link->receive(uint32_t(i % 2), slice(*to.back())));
  }
  for (int i = 0; i < 20; ++i) {
    MessageRequest* send =
        p.a.link->send(uint32_t(i % 2), slice(source(0, i % 3 == 0 ? 10 : kLong, uint8_t(i))));
    ASSERT_TRUE(finish(send) && finish(receives[size_t(i)]));
    EXPECT_TRUE(to[size_t(i)]->holds(uint8_t(i), 0, i % 3 == 0 ? 10 : kLong));
    p.a.link->release(send);
  }
  for (size_t i = 20; i < 40; ++i) EXPECT_FALSE(receives[i]->done());
}

// More regions than a link knows at a time, used and gone one after the other (registration of another kind
// each time).
TEST_P(Messages, Point14_RegionsComeAndGo) {
  Pair& p = pair();
  Buffer &from = source(0, kLong, 3), &to = target(1, kLong);
  for (uint32_t i = 0; i < 2 * kMessageRegions + 5; ++i) {
    auto again = world().domain(1).expose(to.memory, Access::write);
    ASSERT_TRUE(again.ok());
    std::fill_n(to.data(), to.size(), std::byte{0});
    MessageRequest* receive = p.b.link->receive(1, (*again)->slice(0, kLong).value());
    MessageRequest* send = p.a.link->send(1, slice(from));
    ASSERT_TRUE(finish(receive) && finish(send)) << i;
    ASSERT_TRUE(receive->status().ok()) << receive->status().text();
    EXPECT_TRUE(to.holds(3)) << i;
    p.a.link->release(send);
    p.b.link->release(receive);
  }
}

// Also over several rails, whose keys take several lines: nothing goes through the parts.
TEST_P(Messages, LongOnesGoStraightToTheirSlots) {
  if (caps().key_bytes > kMessageKeyMost) GTEST_SKIP() << "keys of this back end are too long";
  Pair& p = pair();
  for (uint8_t seed : {uint8_t(5), uint8_t(6)}) expect_message(p, 1, kLong, seed);
  const std::byte* parts = p.b.rings.part(reinterpret_cast<MessageFront*>(p.b.memory->data()), 0);
  EXPECT_TRUE(plait::test::all_are(parts, size_t{p.b.rings.parts} * kStreamPartBytes, std::byte{0}));
}

// More of them in use at a time than have numbers: the rest is copied.
TEST_P(Messages, MoreRegionsThanNumbers) {
  Pair& p = pair();
  std::vector<MessageRequest*> all;
  std::vector<Buffer*> to;
  for (uint32_t i = 0; i < kMessageRegions + 10; ++i) {
    to.push_back(&target(1, kLong));
    all.push_back(p.b.link->receive(i, slice(*to.back())));
  }
  for (int i = 0; i < 10; ++i) step_all();
  for (uint32_t i = 0; i < to.size(); ++i) {
    MessageRequest* send = p.a.link->send(uint32_t(to.size()) - 1 - i, slice(source(0, kLong, uint8_t(i))));
    ASSERT_TRUE(finish(send)) << i;
    ASSERT_TRUE(finish(all[to.size() - 1 - i])) << i;
    EXPECT_TRUE(to[to.size() - 1 - i]->holds(uint8_t(i))) << i;
  }
}

}  // namespace
}  // namespace plait::transport::conformance
