// Long messages that both ranks copy: whoever moves them, whichever rank does not look, and however many
// there are. Where memory is not mapped they go another way, and nothing else is different.
#include <algorithm>
#include <random>
#include <thread>

#include "conformance/messages_fixture.h"

namespace plait::transport::conformance {
namespace {

constexpr size_t kBytes = 3'000'001;

using Side = SharedCopy::Side;

// What one rank took and the other cannot: both are done when it was copied, not before.
TEST(SharedCopies, ChunksUnderWayAreWaitedFor) {
  constexpr size_t kLength = 100'000;
  for (const int half : {0, 1}) {
    MessageShare cell{};
    Bytes from(kLength, std::byte{7}), to(kLength);
    SharedCopy sender(cell, 1, Side::sender, from.data(), to.data(), kLength, false);
    SharedCopy receiver(cell, 1, Side::receiver, from.data(), to.data(), kLength, false);
    sender.offer();
    cell.halves[half].taken.fetch_add(1);
    size_t budget = 2 * kLength;
    (half == 0 ? receiver : sender).copy(budget);
    const size_t left = kLength - (2 * kLength - budget);
    EXPECT_GT(left, 0u);
    EXPECT_EQ(size_t(std::count(to.begin(), to.end(), std::byte{0})), left);
    EXPECT_FALSE(sender.done());
    EXPECT_FALSE(receiver.done());
    cell.halves[half].copied.fetch_add(1);
    EXPECT_TRUE(sender.done());
    EXPECT_TRUE(receiver.done());
  }
}

// The cell serves another message by then: that one is neither waited for nor copied by who asks for the
// first.
TEST(SharedCopies, WhoMissedTheEndFindsALaterNumber) {
  constexpr size_t kLength = 50'000;
  MessageShare cell{};
  Bytes from(kLength, std::byte{7}), to(kLength), other(kLength, std::byte{8}), there(kLength);
  SharedCopy sender(cell, 1, Side::sender, from.data(), to.data(), kLength, false);
  SharedCopy receiver(cell, 1, Side::receiver, from.data(), to.data(), kLength, false);
  sender.offer();
  size_t budget = kLength + 1;
  sender.copy(budget);
  EXPECT_EQ(budget, 1u);
  EXPECT_EQ(to, from);
  SharedCopy next(cell, 1 + kMessageShares, Side::sender, other.data(), there.data(), kLength, false);
  next.offer();
  EXPECT_TRUE(receiver.done());
  EXPECT_FALSE(next.done());
  budget = kLength;
  receiver.copy(budget);
  EXPECT_EQ(budget, kLength);
}

// Of every length, by turns of random lengths: each byte once. And counts that no rank would write take
// nobody beyond the end.
TEST(SharedCopies, CopyEachByteOnce) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 300; i++) {
    const size_t bytes = 1 + random() % (i % 2 == 0 ? 20'000u : 9'000'000u / unsigned(i));
    MessageShare cell{};
    Bytes from(bytes), to(bytes);
    for (std::byte& b : from) b = std::byte(random());
    SharedCopy copies[] = {{cell, 5, Side::sender, from.data(), to.data(), bytes, i % 3 == 0},
                           {cell, 5, Side::receiver, from.data(), to.data(), bytes, i % 3 == 0}};
    copies[0].offer();
    for (int turn = 0; !copies[0].done(); turn++) {
      ASSERT_LT(turn, 10'000);
      size_t budget = 1 + random() % 100'000;
      copies[random() % 2].copy(budget);
    }
    ASSERT_EQ(to, from) << bytes;
    cell.halves[random() % 2].taken += random() % 1000;
    size_t budget = SIZE_MAX;
    for (SharedCopy& copy : copies) copy.copy(budget);
    EXPECT_EQ(budget, SIZE_MAX);
  }
}

// Of the two that could copy only one looks: it copies all.
TEST_P(Messages, OneOfBothCopiesAll) {
  Pair& p = pair(0, 1, true, kBytes);
  if (p.a.remote->mapped() == nullptr) GTEST_SKIP() << "memory is not mapped";
  for (const int alone : {0, 1}) {
    SCOPED_TRACE("rank " + std::to_string(alone));
    Buffer& to = target(1, kBytes);
    const LocalSlice from = p.a.shared(0, kBytes);
    fill_pattern(from.data, from.bytes, uint8_t(alone));
    MessageRequest* receive = p.b.link->receive(1, slice(to));
    for (int i = 0; i < 5; i++) step_all();
    MessageRequest* send = p.a.link->send(1, from);
    MessageRequest* const first = alone == 0 ? send : receive;
    const Deadline deadline = Deadline::in_ms(kPatienceMs);
    while (!first->done() && !deadline.passed()) step(alone);
    ASSERT_TRUE(first->done());
    EXPECT_TRUE(holds_pattern(to.data(), kBytes, uint8_t(alone)));
    if (alone == 0) fill_pattern(from.data, from.bytes, 99);  // it is the sender's again
    ASSERT_TRUE(finish(send) && finish(receive));
    EXPECT_TRUE(holds_pattern(to.data(), kBytes, uint8_t(alone)));
    p.a.link->release(send);
    p.b.link->release(receive);
  }
}

// More than can be copied so at a time, of a rank whose peer does not look until all have left.
TEST_P(Messages, MoreThanBothCopyAtATime) {
  constexpr size_t kMessages = kMessageShares + 20;
  Pair& p = pair(0, 1, true, kMessages * kLong);
  Buffer& to = target(1, kMessages * kLong);
  std::vector<MessageRequest*> sends, receives;
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < kMessages; i++)
      receives.push_back(p.b.link->receive(1, to.local(i * kLong, kLong)));
    for (int i = 0; i < 5; i++) step_all();
    for (size_t i = 0; i < kMessages; i++) {
      const LocalSlice from = p.a.shared(i * kLong, kLong);
      fill_pattern(from.data, from.bytes, uint8_t(i + size_t(round)));
      sends.push_back(p.a.link->send(1, from));
      ASSERT_TRUE(sends.back() != nullptr && receives[i] != nullptr) << i;
    }
    if (p.a.remote->mapped() != nullptr) {
      for (int i = 0; i < 200; i++) step(0);
    }
    for (size_t i = 0; i < kMessages; i++) {
      ASSERT_TRUE(finish(sends[i]) && finish(receives[i])) << i;
      EXPECT_TRUE(holds_pattern(to.data() + i * kLong, kLong, uint8_t(i + size_t(round)))) << i;
      p.a.link->release(sends[i]);
      p.b.link->release(receives[i]);
    }
    sends.clear();
    receives.clear();
  }
}

// A thread each, both ways at once, windows of random lengths and from either kind of memory.
TEST_P(Messages, BothCopyAtOnce) {
#ifdef PLAIT_SANITIZED
  constexpr int kTurns = 10;
#else
  constexpr int kTurns = 40;
#endif
  constexpr size_t kWindow = 5, kMost = 300'000;
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Pair& p = pair(0, 1, true, kWindow * kMost);
  Buffer *in[2], *out[2];
  for (int r : {0, 1}) {
    in[r] = &target(r, kWindow * kMost);
    out[r] = &source(r, kWindow * kMost, 0);
  }
  std::atomic<int> ended{0};
  std::string wrong[2];
  auto moves = [&](Party& me) {
    std::mt19937 lengths(seed), own(seed + 1 + unsigned(me.rank));  // the first is the same for both
    const Deadline deadline = Deadline::in_ms(kPatienceMs);
    const auto step_until = [&](const auto& holds_now) {
      for (; !holds_now() && !deadline.passed(); std::this_thread::yield()) step(me.rank);
    };
    for (int round = 0; round < kTurns && wrong[me.rank].empty(); round++) {
      size_t bytes[kWindow];
      MessageRequest *sends[kWindow], *receives[kWindow];
      for (size_t i = 0; i < kWindow; i++) {
        bytes[i] = kEagerBytes + lengths() % (kMost - kEagerBytes);
        receives[i] = me.link->receive(1, in[me.rank]->local(i * kMost, bytes[i]));
      }
      for (size_t i = 0; i < kWindow; i++) {
        const LocalSlice from =
            own() % 4 == 0 ? out[me.rank]->local(i * kMost, bytes[i]) : me.shared(i * kMost, bytes[i]);
        fill_pattern(from.data, from.bytes, uint8_t(round + me.rank));
        sends[i] = me.link->send(1, from);
      }
      step_until([&] {
        return std::ranges::all_of(sends, &MessageRequest::done) &&
               std::ranges::all_of(receives, &MessageRequest::done);
      });
      for (size_t i = 0; i < kWindow; i++) {
        if (!sends[i]->done() || !receives[i]->done()) {
          wrong[me.rank] = "round " + std::to_string(round) + " did not end";
          break;
        }
        if (!holds_pattern(in[me.rank]->data() + i * kMost, bytes[i], uint8_t(round + 1 - me.rank)))
          wrong[me.rank] = "other bytes came in round " + std::to_string(round);
        me.link->release(sends[i]);
        me.link->release(receives[i]);
      }
    }
    ended.fetch_add(1);  // the other may still need this rank
    step_until([&] { return ended.load() == 2; });
  };
  std::thread threads[2] = {std::thread([&] { moves(p.a); }), std::thread([&] { moves(p.b); })};
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong[0], "");
  EXPECT_EQ(wrong[1], "");
}

// What the sender says of such a message is checked like all else.
TEST_P(Messages, SharedMessagesThatBreakTheRulesEndTheLink) {
  for (const auto& [what, offset, number, shared_bytes] :
       {std::tuple("where no memory is for both", uint64_t(0), 1u, size_t(0)),
        std::tuple("does not lie in its memory", uint64_t(1) << 40, 1u, size_t(4096)),
        std::tuple("out of turn", uint64_t(0), 7u, size_t(4096))}) {
    SCOPED_TRACE(what);
    Pair& p = pair(0, 1, true, shared_bytes);
    if (p.a.remote->mapped() == nullptr) GTEST_SKIP() << "memory is not mapped";
    MessageRequest* receive = p.b.link->receive(1, slice(target(1, kLong)));
    for (int i = 0; i < 3; i++) step_all();
    MessageLine& at = reinterpret_cast<MessageMemory*>(p.b.memory->data())->lines[0];
    MessageLine line;
    line.kind = uint8_t(LineKind::direct);
    line.flags = kShared;
    line.fields.tag = 1;
    line.fields.slot = MessageHandle::make(0, 1);
    line.fields.bytes = kLong;
    line.fields.offset = offset;
    line.fields.send = number;
    line.turn = message_turn(0);
    std::memcpy(static_cast<void*>(&at), &line, sizeof line);
    ASSERT_TRUE(finish(receive));
    EXPECT_NE(receive->status().text().find(what), std::string_view::npos) << receive->status().text();
  }
}

}  // namespace
}  // namespace plait::transport::conformance
