// Points 8 to 11 of an NCCL net plugin's contract: how many, which meets which, and in what order they end.
#include "conformance/messages_fixture.h"

namespace plait::transport::conformance {
namespace {

// Every way that a message can take, with sizes around the borders of each.
TEST_P(Messages, BytesOfAllSizesArrive) {
  for (bool mapped : {true, false}) {
    Pair& p = pair(0, 1, mapped);
    uint8_t seed = 1;
    for (size_t bytes :
         {size_t(0), size_t(1), size_t(kInlineBytes), size_t(kInlineBytes) + 1, size_t(kRings.unit_bytes),
          size_t(kRings.unit_bytes) + 1, size_t(kEagerBytes), size_t(kEagerBytes) + 1, size_t(kFarEagerBytes),
          size_t(kFarEagerBytes) + 1, size_t(262145), size_t(3'000'001)}) {
      expect_message(p, 5, bytes, seed++);
    }
  }
}

// Without regions, on either side or both, and when the receive comes after the message.
TEST_P(Messages, BytesArriveWithoutRegions) {
  Pair* const pairs[] = {&pair(), &pair()};  // divided in both ways
  uint8_t seed = 1;
  for (size_t bytes : {size_t(100), size_t(kEagerBytes) + 1, size_t(kStreamPartBytes),
                       size_t(kStreamPartBytes) * kRings.parts + 1, kLong, size_t(1'000'000),
                       size_t(kStreamPartBytes) * kMappedRings[1].parts + 1,
                       size_t(kStreamPartBytes) * kMappedRings[0].parts + 1}) {
    for (int way = 0; way < 16; ++way, ++seed) {
      Pair& p = *pairs[way / 8];
      const bool late = (way & 4) != 0;
      Buffer &from = source(0, bytes, seed), &to = target(1, bytes);
      const LocalSlice out = (way & 1) != 0 ? plain(from) : slice(from),
                       in = (way & 2) != 0 ? plain(to) : slice(to);
      MessageRequest* receive = late ? nullptr : p.b.link->receive(1, in);
      for (int i = 0; i < 5; ++i) step_all();
      MessageRequest* send = p.a.link->send(1, out);
      for (int i = 0; i < 40; ++i) step_all();
      if (late) receive = p.b.link->receive(1, in);
      ASSERT_TRUE(finish(send) && finish(receive)) << bytes << " bytes, way " << way;
      EXPECT_TRUE(to.holds(seed)) << bytes << " bytes, way " << way;
      p.a.link->release(send);
      p.b.link->release(receive);
    }
  }
}

// 32 receives of 8 slots, all of them and all sends posted before anything is polled; only the last is asked
// for.
TEST_P(Messages, Point08_AllAreOutstandingBeforeAnyTest) {
  for (bool receives_first : {true, false}) {
    Pair& p = pair();
    constexpr size_t kGroups = kMessageSends / kMessageTogether;
    std::vector<Buffer*> from, to;
    std::vector<MessageRequest*> sends, receives;
    auto post_receives = [&] {
      for (size_t g = 0; g < kGroups; ++g) {
        MessageSlot slots[kMessageTogether];
        for (uint32_t i = 0; i < kMessageTogether; ++i) {
          to.push_back(&target(1, 1 + g * 700));
          slots[i] = {i, slice(*to.back())};
        }
        receives.push_back(p.b.link->receive(slots));
        ASSERT_NE(receives.back(), nullptr);
      }
    };
    if (receives_first) post_receives();
    for (size_t i = 0; i < kMessageSends; ++i) {
      const size_t g = i / kMessageTogether;
      from.push_back(&source(0, 1 + g * 700, uint8_t(i)));
      sends.push_back(p.a.link->send(uint32_t(i % kMessageTogether), slice(*from.back())));
      ASSERT_NE(sends.back(), nullptr) << i;
    }
    if (!receives_first) post_receives();
    ASSERT_TRUE(finish(receives.back()));
    ASSERT_TRUE(finish(sends.back()));
    for (MessageRequest* s : sends) {
      ASSERT_TRUE(finish(s));
      p.a.link->release(s);
    }
    for (MessageRequest* r : receives) {
      ASSERT_TRUE(finish(r));
      EXPECT_TRUE(r->status().ok());
      p.b.link->release(r);
    }
    for (size_t i = 0; i < kMessageSends; ++i) EXPECT_TRUE(to[i]->holds(uint8_t(i))) << i;
    expect_message(p, 9, kLong, 3);
  }
}

TEST_P(Messages, Point09_NullMeansTryAgainWhenFull) {
  Pair& p = pair();
  Buffer &from = source(0, kLong, 1), &to = target(1, kLong);
  std::vector<MessageRequest*> sends, receives;
  while (MessageRequest* r = p.a.link->send(1, slice(from))) sends.push_back(r);
  while (MessageRequest* r = p.b.link->receive(2, slice(to))) receives.push_back(r);
  EXPECT_EQ(sends.size(), kMessageSends);
  EXPECT_EQ(receives.size(), kMessageSlots);
  EXPECT_TRUE(p.a.link->status().ok() && p.b.link->status().ok());
  for (int i = 0; i < 20; ++i) step_all();
  EXPECT_EQ(p.a.link->send(2, slice(from)), nullptr);  // nothing ended
  // The other direction is free.
  MessageRequest* back = p.b.link->send(7, slice(to, 10));
  MessageRequest* take = p.a.link->receive(7, slice(from, 10));
  ASSERT_TRUE(finish(back) && finish(take));
}

TEST_P(Messages, Point10_NoMoreSlotsThanEight) {
  Pair& p = pair();
  MessageSlot slots[kMessageTogether + 1];
  EXPECT_EQ(p.a.link->receive(slots), nullptr);
  EXPECT_EQ(p.a.link->receive(std::span<MessageSlot>()), nullptr);
  EXPECT_TRUE(p.a.link->status().ok());
}

// Of one tag, whatever way each takes.
TEST_P(Messages, Point10_SendsMatchInPostingOrder) {
  Pair& p = pair();
  const size_t sizes[] = {kLong,           0, 10,      100'000,       33, kEagerBytes,
                          kEagerBytes + 1, 1, 300'000, kFarEagerBytes};
  for (int order = 0; order < 3; ++order) {
    std::vector<MessageRequest*> sends, receives;
    std::vector<Buffer*> to;
    uint8_t seed = 1;
    auto send_next = [&] {
      const size_t bytes = sizes[sends.size()];
      sends.push_back(p.a.link->send(4, slice(source(0, bytes + 1, seed++), bytes)));
    };
    auto receive_next = [&] {
      to.push_back(&target(1, 400'000));
      receives.push_back(p.b.link->receive(4, slice(*to.back())));
    };
    for (size_t i = 0; i < std::size(sizes); ++i) {
      if (order == 0) receive_next();
      send_next();
      if (order == 1) receive_next();
      if (i % 3 == 0) step_all();
    }
    while (receives.size() < std::size(sizes)) receive_next();
    for (size_t i = 0; i < std::size(sizes); ++i) {
      ASSERT_TRUE(finish(receives[i]) && finish(sends[i])) << "order " << order << ", message " << i;
      EXPECT_EQ(receives[i]->bytes()[0], sizes[i]) << "order " << order << ", message " << i;
      EXPECT_TRUE(to[i]->holds(uint8_t(i + 1), 0, sizes[i])) << "order " << order << ", message " << i;
      p.a.link->release(sends[i]);
      p.b.link->release(receives[i]);
    }
  }
}

// Sent to leave together, of all kinds: in their order, and not before the link has its turn.
TEST_P(Messages, ThoseThatLeaveTogetherKeepTheirOrder) {
  Pair& p = pair();
  const size_t sizes[] = {8, 0, kEagerBytes, 33, kLong, 5000, kFarEagerBytes, 1, 300'000, 20};
  constexpr size_t kMany = 60;
  std::vector<MessageRequest*> sends, receives;
  std::vector<Buffer*> to;
  for (size_t i = 0; i < kMany; ++i) {
    const size_t bytes = sizes[i % std::size(sizes)];
    sends.push_back(p.a.link->send(6, slice(source(0, bytes + 1, uint8_t(i)), bytes), false));
    ASSERT_NE(sends.back(), nullptr);
    EXPECT_FALSE(sends.back()->done());
  }
  for (size_t i = 0; i < kMany; ++i) {
    const size_t bytes = sizes[i % std::size(sizes)];
    to.push_back(&target(1, bytes + 1));
    receives.push_back(p.b.link->receive(6, slice(*to.back())));
  }
  for (size_t i = 0; i < kMany; ++i) {
    const size_t bytes = sizes[i % std::size(sizes)];
    ASSERT_TRUE(finish(receives[i]) && finish(sends[i])) << i;
    EXPECT_EQ(receives[i]->bytes()[0], bytes) << i;
    EXPECT_TRUE(to[i]->holds(uint8_t(i), 0, bytes)) << i;
  }
}

// Two groups of the same tags: what comes twice of a tag before the other tag came goes to the second group.
TEST_P(Messages, Point10_TagsPickTheSlotOfTheOldestReceive) {
  for (size_t bytes : {size_t(64), kLong}) {
    Pair& p = pair();
    Buffer* to[4];
    for (auto& t : to) t = &target(1, bytes);
    const MessageSlot first[] = {{1, slice(*to[0])}, {2, slice(*to[1])}};
    const MessageSlot second[] = {{1, slice(*to[2])}, {2, slice(*to[3])}};
    MessageRequest *one = p.b.link->receive(first), *two = p.b.link->receive(second);
    const uint32_t tags[] = {2, 2, 1, 1};
    MessageRequest* sends[4];
    for (int i = 0; i < 4; ++i) {
      sends[i] = p.a.link->send(tags[i], slice(source(0, bytes, uint8_t(i + 1))));
      run([&] { return one->done() == (i >= 2) && two->done() == (i >= 3); });  // engines take their time
      for (int k = 0; k < 200; ++k) step_all();
      EXPECT_EQ(one->done(), i >= 2) << i;
      EXPECT_EQ(two->done(), i >= 3) << i;
    }
    ASSERT_TRUE(finish(one) && finish(two));
    for (auto* s : sends) EXPECT_TRUE(finish(s));
    EXPECT_TRUE(to[1]->holds(1) && to[3]->holds(2) && to[0]->holds(3) && to[2]->holds(4)) << bytes;
  }
}

// A tag twice in one group.
TEST_P(Messages, Point10_RepeatsOfATagStayInOrder) {
  Pair& p = pair();
  Buffer &a = target(1, kLong), &b = target(1, kLong), &c = target(1, 100);
  const MessageSlot slots[] = {{6, slice(a)}, {8, slice(c)}, {6, slice(b)}};
  MessageRequest* receive = p.b.link->receive(slots);
  MessageRequest* sends[] = {p.a.link->send(6, slice(source(0, kLong, 1))),
                             p.a.link->send(6, slice(source(0, 50, 2))),
                             p.a.link->send(8, slice(source(0, 60, 3)))};
  ASSERT_TRUE(finish(receive));
  for (auto* s : sends) EXPECT_TRUE(finish(s));
  EXPECT_EQ(std::vector<size_t>(receive->bytes().begin(), receive->bytes().end()),
            (std::vector<size_t>{kLong, 60, 50}));
  EXPECT_TRUE(a.holds(1) && b.holds(2, 0, 50) && c.holds(3, 0, 60));
}

// Short ones that nobody takes fill all the room there is for such, in both directions; another comes past
// them all the same.
TEST_P(Messages, ShortOnesThatNobodyTakesHoldUpNoOther) {
  for (bool mapped : {true, false}) {
    for (size_t bytes : {size_t(300), size_t(5000), size_t(kEagerBytes), size_t(kFarEagerBytes)}) {
      Pair& p = pair(0, 1, mapped);
      const uint32_t units =
          std::min(p.a.rings.units_of(uint32_t(bytes)), p.b.rings.units_of(uint32_t(bytes)));
      const size_t many = std::min<size_t>(kUnits / units + 5, kMessageSends - 1);
      std::vector<MessageRequest*> sends[2];
      Party* const ends[] = {&p.a, &p.b};
      for (int e : {0, 1}) {
        for (size_t i = 0; i <= many; ++i)
          sends[e].push_back(ends[e]->link->send(i == many ? 2 : 1, slice(source(e, bytes, uint8_t(i)))));
      }
      const auto take = [&](int e, size_t i) {
        Party& to = *ends[1 - e];
        Buffer& place = target(1 - e, bytes);
        MessageRequest* const r = to.link->receive(i == many ? 2 : 1, slice(place));
        EXPECT_TRUE(finish(r) && finish(sends[e][i])) << "message " << i << " of " << bytes << " bytes";
        EXPECT_TRUE(place.holds(uint8_t(i))) << "message " << i << " of " << bytes << " bytes";
        to.link->release(r);
        ends[e]->link->release(sends[e][i]);
        return !HasFailure();
      };
      ASSERT_TRUE(take(0, many) && take(1, many));
      for (size_t i = 0; i < many; ++i) ASSERT_TRUE(take(0, i) && take(1, i));
    }
  }
}

// Oldest first, newest first, and all in turn.
TEST_P(Messages, Point11_AnyOrderOfTestingWorks) {
  Pair& p = pair();
  constexpr size_t kMany = 24;
  for (int order = 0; order < 3; ++order) {
    std::vector<MessageRequest*> all;
    std::vector<Buffer*> to;
    for (size_t i = 0; i < kMany; ++i) {
      const size_t bytes = i % 2 == 0 ? 100 + i : kLong + i;
      to.push_back(&target(1, bytes));
      all.push_back(p.b.link->receive(1, slice(*to.back())));
      all.push_back(p.a.link->send(1, slice(source(0, bytes, uint8_t(i)))));
    }
    for (size_t i = 0; i < all.size(); ++i) {
      const size_t at = order == 1 ? all.size() - 1 - i : i;
      if (order == 2) {
        ASSERT_TRUE(
            run([&] { return std::all_of(all.begin(), all.end(), [](auto* r) { return r->done(); }); }));
      }
      ASSERT_TRUE(finish(all[at]));
    }
    for (size_t i = 0; i < kMany; ++i) EXPECT_TRUE(to[i]->holds(uint8_t(i))) << i;
    for (size_t i = 0; i < all.size(); ++i) (i % 2 == 0 ? p.b : p.a).link->release(all[i]);
  }
}

// Both directions of one link do not wait for one another.
TEST_P(Messages, DirectionsAreIndependent) {
  Pair& p = pair();
  Buffer &big = source(0, 2'000'000, 1), &small = source(1, 8, 2), &to_big = target(1, 2'000'000),
         &to_small = target(0, 8);
  MessageRequest* slow = p.a.link->send(1, slice(big));
  MessageRequest* quick = p.b.link->send(1, slice(small));
  MessageRequest* take_quick = p.a.link->receive(1, slice(to_small));
  ASSERT_TRUE(finish(quick) && finish(take_quick));
  EXPECT_FALSE(slow->done());  // nobody receives it yet
  MessageRequest* take_slow = p.b.link->receive(1, slice(to_big));
  ASSERT_TRUE(finish(slow) && finish(take_slow));
  EXPECT_TRUE(to_big.holds(1) && to_small.holds(2));
}

}  // namespace
}  // namespace plait::transport::conformance
