// Short messages that are lent: read from where the sender has them by whoever is there, and from their units
// by who comes later. Where memory is not mapped, or not for both, they go as all others do.
#include <algorithm>
#include <functional>
#include <random>
#include <thread>
#include <tuple>

#include "base/wait.h"
#include "conformance/messages_fixture.h"
#include "support/all_are.h"

namespace plait::transport::conformance {
namespace {

constexpr uint32_t kTag = 7;

// Calls `landed` after each line that is stored, before its sender looks whether it was taken.
class Bell final : public Endpoint {
 public:
  Bell() {
    counters_ = words_;
    peer_asleep_ = &asleep_;
  }
  ByteView ticket() const noexcept override { return {}; }
  Status connect(ByteView) noexcept override { return {}; }
  State state() const noexcept override { return State::ready; }
  std::string_view error() const noexcept override { return ""; }
  Result<std::unique_ptr<RemoteRegion>> import(ByteView) override { return Status(Code::invalid, "none"); }
  size_t post(std::span<const Transfer>) noexcept override { return 0; }
  void close() noexcept override {}
  std::function<void()> landed;

 private:
  void wake() noexcept override {
    if (landed) landed();
  }
  std::atomic<uint64_t> words_[kMessageCounters]{};
  std::atomic<uint32_t> asleep_{1};
};

// Two links in one thread, each of which maps all memory of the other.
struct Couple {
  struct Block : MappedMessageMemory {
    std::byte lendable[kEagerBytes];
  };
  struct Own final : Region {
    explicit Own(const Memory& memory) : Region(memory) {}
    ByteView key() const noexcept override { return {}; }
  };
  struct Remote final : RemoteRegion {
    explicit Remote(Block& of) : RemoteRegion(sizeof of, Access::both), block(of) {}
    std::byte* mapped() const noexcept override { return reinterpret_cast<std::byte*>(&block); }
    Block& block;
  };
  struct End {
    std::unique_ptr<Block> memory = std::make_unique<Block>();
    std::unique_ptr<MessageFront> shadow = std::make_unique<MessageFront>();
    Own arena{Memory{reinterpret_cast<std::byte*>(memory.get()), sizeof *memory}};
    Capabilities capabilities;
    Bell bell;
    std::unique_ptr<Remote> remote;
    std::unique_ptr<MessageLink> link;
    void join(End& peer) {
      remote = std::make_unique<Remote>(*peer.memory);
      MessageWiring wiring;
      wiring.endpoint = &bell;
      wiring.capabilities = &capabilities;
      wiring.remote = remote.get();
      wiring.mapped = peer.memory.get();
      wiring.arena = &arena;
      wiring.own = memory.get();
      wiring.their_rings = wiring.own_rings = kMappedRings[1];
      wiring.shadow = shadow.get();
      link = std::make_unique<MessageLink>(wiring, "the other");
    }
  };
  End a, b;
  Couple() {
    a.join(b);
    b.join(a);
    b_answers();
  }
  void b_answers() {
    std::byte word[8]{};
    size_t moved = 0;
    EXPECT_TRUE(b.link->send_now(kTag, word, sizeof word));
    EXPECT_TRUE(a.link->receive_now(kTag, word, sizeof word, moved));
  }
  // 100 bytes. `there`: b receives them as soon as it can.
  void a_sends(bool there) {
    a.bell.landed = there ? std::function<void()>([this] { b_receives(); }) : nullptr;
    EXPECT_TRUE(a.link->send_now(kTag, a.memory->lendable, 100, true));
    a.bell.landed = nullptr;
    sent++;
  }
  void b_receives() {
    std::byte to[100];
    size_t moved = 0;
    EXPECT_TRUE(b.link->receive_now(kTag, to, sizeof to, moved));
  }
  uint32_t sent = 0;
  // Do the units that are kept for a's messages hold any?
  bool units_used() { return !plait::test::all_are(b.memory->rings, sizeof b.memory->rings, std::byte{0}); }
};

// Who receives it while its sender looks on finds it where the sender has it.
TEST(Lent, WhoIsThereReadsItWhereItLies) {
  for (const bool at_once : {false, true}) {
    for (const size_t bytes : {size_t{33}, size_t{1000}, size_t{kEagerBytes}}) {
      SCOPED_TRACE(std::to_string(bytes) + (at_once ? " bytes at once" : " bytes"));
      Couple c;
      Bytes to(bytes);
      size_t moved = 0;
      fill_pattern(c.a.memory->lendable, bytes, 5);
      MessageRequest* const request =
          at_once ? nullptr : c.b.link->receive(kTag, {to.data(), bytes, nullptr});
      c.a.bell.landed = [&] {
        if (request != nullptr) {
          EXPECT_TRUE(c.b.link->progress());
        } else {
          EXPECT_TRUE(c.b.link->receive_now(kTag, to.data(), bytes, moved));
        }
      };
      ASSERT_TRUE(c.a.link->send_now(kTag, c.a.memory->lendable, bytes, true));
      if (request != nullptr) {
        ASSERT_TRUE(request->done());
        moved = request->bytes()[0];
        c.b.link->release(request);
      }
      EXPECT_EQ(moved, bytes);
      EXPECT_TRUE(holds_pattern(to.data(), bytes, 5));
      EXPECT_FALSE(c.units_used());
    }
  }
}

// Who waits for another one, or has too little room, does not take it: it waits in its units.
TEST(Lent, WhoCannotTakeItFindsItInItsUnits) {
  for (const bool short_of_room : {false, true}) {
    Couple c;
    Bytes to(1000), other(999);
    size_t moved = 0;
    fill_pattern(c.a.memory->lendable, to.size(), 6);
    const uint32_t tag = short_of_room ? kTag : kTag + 1;
    bool lent = false;
    c.a.bell.landed = [&] {
      if (std::exchange(lent, true)) return;  // it was withdrawn by now
      EXPECT_FALSE(c.b.link->receive_now(tag, other.data(), other.size(), moved));
      MessageRequest* const waits = c.b.link->receive(kTag + 1, {other.data(), other.size(), nullptr});
      EXPECT_NE(waits, nullptr);
      EXPECT_FALSE(c.b.link->progress());
    };
    ASSERT_TRUE(c.a.link->send_now(kTag, c.a.memory->lendable, to.size(), true));
    c.a.bell.landed = nullptr;
    fill_pattern(c.a.memory->lendable, to.size(), 7);
    EXPECT_TRUE(c.units_used());
    MessageRequest* const request = c.b.link->receive(kTag, {to.data(), to.size(), nullptr});
    c.b.link->progress();
    ASSERT_TRUE(request->done());
    EXPECT_TRUE(holds_pattern(to.data(), to.size(), 6));
    c.b.link->release(request);
  }
}

// To a peer that was not heard of since, nothing is lent, though it would take it.
TEST(Lent, ManyOneWayAreNot) {
  Couple c;
  c.a_sends(false);
  c.b_receives();
  for (int i = 1; i < 4; i++) {
    c.a_sends(true);
    EXPECT_EQ(LineKind(c.b.memory->lines[i].kind), LineKind::eager) << i;
  }
}

// After one that nobody took the next one is not, and the one after it is.
TEST(Lent, OneThatNobodyTookIsFollowedByARest) {
  Couple c;
  for (const auto& [there, kind] : {std::pair(false, LineKind::eager), std::pair(true, LineKind::eager),
                                    std::pair(true, LineKind::taken), std::pair(true, LineKind::taken)}) {
    const uint32_t line = c.sent;
    c.a_sends(there);
    EXPECT_EQ(LineKind(c.b.memory->lines[line].kind), kind) << line;
    if (!there) c.b_receives();
    c.b_answers();
  }
}

class Lending : public Messages {
 protected:
  // A message there and one back, so that each has heard of the other since it last sent.
  void take_turns(Pair& p) {
    for (auto [from, to] : {std::pair(&p.a, &p.b), std::pair(&p.b, &p.a)}) {
      std::byte word[8]{}, got[8];
      MessageRequest* const send = from->link->send(kTag + 1, {word, sizeof word, nullptr});
      MessageRequest* const receive = to->link->receive(kTag + 1, {got, sizeof got, nullptr});
      ASSERT_TRUE(finish(send) && finish(receive));
      from->link->release(send);
      to->link->release(receive);
    }
  }
};

// Its source is the sender's again at once, and it waits for a receive of either kind.
TEST_P(Lending, NobodyComesAndItWaits) {
  for (const size_t bytes : {size_t{33}, size_t{897}, size_t{kEagerBytes}}) {
    for (const bool at_once : {false, true}) {
      Pair& p =
          pair(0, 1, true, kEagerBytes);  // a new one, as the next message of this one would not be lent
      if (p.a.remote->mapped() == nullptr) GTEST_SKIP() << "memory is not mapped";
      SCOPED_TRACE(std::to_string(bytes) + (at_once ? " bytes at once" : " bytes"));
      take_turns(p);
      const LocalSlice from = p.a.shared(0, bytes);
      fill_pattern(from.data, bytes, uint8_t(bytes));
      ASSERT_TRUE(p.a.link->send_now(kTag, from.data, bytes, true));
      fill_pattern(from.data, bytes, uint8_t(bytes + 1));
      Bytes to(bytes);
      if (at_once) {
        size_t moved = 0;
        ASSERT_TRUE(p.b.link->receive_now(kTag, to.data(), bytes, moved));
        EXPECT_EQ(moved, bytes);
      } else {
        MessageRequest* const receive = p.b.link->receive(kTag, {to.data(), bytes, nullptr});
        ASSERT_TRUE(finish(receive));
        EXPECT_EQ(receive->bytes()[0], bytes);
        p.b.link->release(receive);
      }
      EXPECT_TRUE(holds_pattern(to.data(), bytes, uint8_t(bytes)));
    }
  }
}

// A thread each. Messages of every short length, from memory that can be lent and from other; what receives
// them is there, comes late, waits for another one first, or has too little room; their sources change as
// soon as they were sent.
TEST_P(Lending, NoneIsTornThoughItsSourceChanges) {
#ifdef PLAIT_SANITIZED
  constexpr int kTurns = 300;
#else
  constexpr int kTurns = 3000;
#endif
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Pair& p = pair(0, 1, true, kEagerBytes);
  if (p.a.remote->mapped() == nullptr) GTEST_SKIP() << "memory is not mapped";
  std::string wrong[2];
  std::atomic<int> ended{0};
  const Deadline deadline = Deadline::in_ms(kPatienceMs);

  struct Turn {
    size_t bytes;
    uint32_t tag;
    uint8_t pattern;
  };
  const auto send = [&](Party& me, const Turn& turn, std::mt19937& own) -> std::string {
    Bytes other(turn.bytes);
    std::byte* const from = own() % 8 == 0 ? other.data() : me.shared(0, turn.bytes).data;
    fill_pattern(from, turn.bytes, turn.pattern);
    while (!me.link->send_now(turn.tag, from, turn.bytes, own() % 8 != 0)) {
      if (deadline.passed()) return "a message cannot be sent";
      step(me.rank);
    }
    fill_pattern(from, turn.bytes, uint8_t(turn.pattern + 1));
    return {};
  };
  const auto receive = [&](Party& me, const Turn& turn, std::mt19937& own) -> std::string {
    const auto late = uint32_t(own() % 4 == 0 ? own() % 2000 : 0);
    for (uint32_t i = 0; i < late; i++) cpu_relax();
    Bytes to(turn.bytes), little(turn.bytes / 2);
    size_t moved = 0;
    if (own() % 4 == 0) {
      if (me.link->receive_now(turn.tag + 1, to.data(), turn.bytes, moved)) return "one of another tag came";
      if (me.link->receive_now(turn.tag, little.data(), little.size(), moved))
        return "one came that is too long";
    }
    MessageRequest* request = nullptr;
    for (uint32_t looks = own() % 3 == 0 ? 0 : 1000; looks != 0; looks--)
      if (me.link->receive_now(turn.tag, to.data(), turn.bytes, moved)) break;
    if (moved == 0) {
      request = me.link->receive(turn.tag, {to.data(), turn.bytes, nullptr});
      for (; !request->done(); step(me.rank))
        if (deadline.passed()) return "a message did not come";
      moved = request->bytes()[0];
      me.link->release(request);
    }
    if (moved != turn.bytes) return "one of another length came";
    return holds_pattern(to.data(), turn.bytes, turn.pattern) ? "" : "other bytes came";
  };
  const auto moves = [&](Party& me) {
    std::mt19937 both(seed), own(seed + 1 + unsigned(me.rank));  // the first is the same for both
    for (int i = 0; i < kTurns && wrong[me.rank].empty(); i++) {
      const Turn turn{1 + both() % kEagerBytes, uint32_t(10 + both() % 2 * 10), uint8_t(both())};
      const bool sends = (both() % 8 == 0 ? both() % 2 : unsigned(i) % 2) == unsigned(me.rank);
      const std::string what = sends ? send(me, turn, own) : receive(me, turn, own);
      if (!what.empty()) wrong[me.rank] = what + " in turn " + std::to_string(i);
    }
    ended.fetch_add(1);  // the other may still need this rank
    while (ended.load() != 2 && !deadline.passed()) step(me.rank);
  };
  std::thread threads[2] = {std::thread([&] { moves(p.a); }), std::thread([&] { moves(p.b); })};
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong[0], "");
  EXPECT_EQ(wrong[1], "");
}

// A line that lends what its sender has not got, or says what none does, ends the link.
TEST_P(Lending, WhatNoLinkWouldLendIsRefused) {
  for (const auto& [beyond, flags, what] :
       {std::tuple(1, 0, "it lends from where"), std::tuple(0, 1, "unknown flags")}) {
    Pair& p = pair(0, 1, true, kEagerBytes);
    if (p.a.remote->mapped() == nullptr) GTEST_SKIP() << "memory is not mapped";
    SCOPED_TRACE(what);
    MessageLine line;
    line.kind = uint8_t(LineKind::lent);
    line.flags = uint8_t(flags);
    line.turn = message_turn(0);
    line.fields.tag = kTag;
    line.fields.bytes = 100;
    line.fields.offset = p.a.memory->size() - 100 + size_t(beyond);
    reinterpret_cast<MessageFront*>(p.b.memory->data())->lines[0] = line;
    Bytes to(100);
    MessageRequest* const receive = p.b.link->receive(kTag, {to.data(), to.size(), nullptr});
    ASSERT_TRUE(finish(receive));
    EXPECT_FALSE(receive->status().ok());
    const std::string_view text = p.b.link->status().text();
    EXPECT_NE(text.find(what), std::string_view::npos) << text;
    p.b.link->release(receive);
  }
}

INSTANTIATE_TEST_SUITE_P(Transport, Lending, testing::ValuesIn(backends()),
                         [](const testing::TestParamInfo<Backend>& one) { return one.param.name; });

}  // namespace
}  // namespace plait::transport::conformance
