// Short messages without a request: they keep the order of all others, and what they cannot do changes
// nothing.
#include <algorithm>
#include <cstring>
#include <deque>
#include <random>

#include "conformance/messages_fixture.h"
#include "support/all_are.h"
#include "transport/message_inline.h"

namespace plait::transport::conformance {
namespace {

constexpr uint32_t kTags = 3;

struct Note {
  uint32_t tag = 0;
  Bytes bytes;
};

Note random_note(std::mt19937_64& random) {
  const size_t most[] = {1, 9, 33, 300, kEagerBytes + 1, 2 * kEagerBytes};
  Note note{uint32_t(random() % kTags), Bytes(size_t(random() % most[random() % std::size(most)]))};
  if (random() % 4 == 0) note.bytes.resize(8);
  for (size_t i = 0; i < note.bytes.size(); i += 8) {
    const uint64_t word = random();
    std::memcpy(&note.bytes[i], &word, std::min(sizeof word, note.bytes.size() - i));
  }
  return note;
}

// Both ends, and how often each went without a request.
class Notes {
 public:
  Notes(std::mt19937_64& random, bool mapped, const std::function<bool(MessageRequest*)>& finish)
      : random_(random), mapped_(mapped), finish_(finish) {}

  // The source is the caller's again at once.
  void send(MessageLink& from, const Note& note) {
    auto source = std::make_unique<Bytes>(note.bytes);
    if (random_() % 8 != 0 && send_now(from, note.tag, *source)) {
      std::fill(source->begin(), source->end(), std::byte{0xee});
      sent++;
      return;
    }
    requests_.push_back(from.send(note.tag, {source->data(), source->size(), nullptr}));
    sources_.push_back(std::move(source));
  }

  std::string receive(MessageLink& to, const Note& note) {
    Bytes place(note.bytes.size() + random_() % 3 * 100, std::byte{0x55});
    size_t moved = 0;
    if (receive_now(to, kTags, place.data(), place.size(), moved)) return "a message of another tag came";
    if (!note.bytes.empty() && receive_now(to, note.tag, place.data(), note.bytes.size() - 1, moved))
      return "a message came that is too long";
    if (!plait::test::all_are(place.data(), place.size(), std::byte{0x55})) return "bytes of no message came";
    if (random_() % 4 != 0 && receive_now(to, note.tag, place.data(), place.size(), moved)) {
      if (!plait::test::all_are(place.data() + moved, place.size() - moved, std::byte{0x55}))
        return "bytes came behind the message";
      received++;
      if (moved != note.bytes.size()) return "a message of another length came at once";
    } else {
      MessageRequest* request = to.receive(note.tag, {place.data(), place.size(), nullptr});
      if (request == nullptr || !finish_(request)) return "a message did not come";
      if (request->bytes()[0] != note.bytes.size()) return "a message of another length came";
      to.release(request);
    }
    const size_t bytes = note.bytes.size();
    return bytes == 0 || std::memcmp(note.bytes.data(), place.data(), bytes) == 0 ? "" : "other bytes came";
  }

  std::string finish(MessageLink& from) {
    for (MessageRequest* request : requests_) {
      if (request == nullptr || !finish_(request) || !request->status().ok()) return "a send does not end";
      from.release(request);
    }
    requests_.clear();
    sources_.clear();
    return {};
  }

  size_t sent = 0, received = 0;
  size_t inlined = 0;  // of both

 private:
  // Either way, where it is short enough to lie in its line.
  bool send_now(MessageLink& from, uint32_t tag, const Bytes& bytes) {
    if (mapped_ && bytes.size() <= kInlineBytes && random_() % 2 == 0) {
      const bool done = from.send_inline(tag, bytes.data(), uint32_t(bytes.size()));
      inlined += done;
      return done;
    }
    return from.send_now(tag, bytes.data(), bytes.size());
  }
  bool receive_now(MessageLink& to, uint32_t tag, std::byte* data, size_t room, size_t& moved) {
    if (mapped_ && random_() % 2 == 0) {
      const bool done = to.receive_inline(tag, data, room, uint32_t(random_() % 3), moved);
      inlined += done;
      return done;
    }
    return to.receive_now(tag, data, room, moved);
  }

  std::mt19937_64& random_;
  const bool mapped_;
  const std::function<bool(MessageRequest*)> finish_;
  std::vector<MessageRequest*> requests_;
  std::vector<std::unique_ptr<Bytes>> sources_;
};

TEST_P(Messages, ShortOnesNeedNoRequest) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Pair& p = pair();
  Notes notes(random, p.a.link->takes_now(), [this](MessageRequest* r) { return finish(r); });
  for (int burst = 0; burst < 200; burst++) {
    Party &from = random() % 2 == 0 ? p.a : p.b, &to = &from == &p.a ? p.b : p.a;
    std::deque<Note> under_way(1 + random() % 20);
    for (Note& note : under_way) notes.send(*from.link, note = random_note(random));
    for (const Note& note : under_way) ASSERT_EQ(notes.receive(*to.link, note), "");
    ASSERT_EQ(notes.finish(*from.link), "");
  }
  EXPECT_EQ(notes.sent > 0, notes.received > 0) << notes.sent << " sent, " << notes.received << " received";
  EXPECT_EQ(notes.sent > 0, notes.inlined > 0);
  RecordProperty("sent_now", int(notes.sent));
  RecordProperty("inlined", int(notes.inlined));
  RecordProperty("received_now", int(notes.received));
}

// Those that lie in their line are received as if all that was sent had been read only where that was told.
TEST_P(Messages, InlineOnesGiveNoCreditThatWasNotTold) {
  Pair& p = pair();
  MessageLink &a = *p.a.link, &b = *p.b.link;
  if (!a.takes_now()) return;
  uint64_t word = 0, got = 0;
  size_t moved = 0;
  const auto bytes = [](uint64_t& w) { return reinterpret_cast<std::byte*>(&w); };
  const auto send = [&](MessageLink& from) {
    word++;
    return from.send_inline(1, bytes(word), sizeof word);
  };
  for (int i = 0; i < 3; i++) ASSERT_TRUE(send(a));
  ASSERT_TRUE(b.send_inline(1, bytes(got), sizeof got));
  EXPECT_FALSE(a.receive_inline(1, bytes(got), sizeof got, 0, moved)) << "nothing of a's was read";
  EXPECT_TRUE(a.receive_now(1, bytes(got), sizeof got, moved));
  uint32_t sent = 3;
  while (sent <= kMessageLines && send(a)) sent++;
  EXPECT_EQ(sent, kMessageLines - 1) << "one line is kept for credit";
  uint32_t inlined = 0;
  for (uint64_t i = 1; i <= sent; i++) {
    const bool done = b.receive_inline(1, bytes(got), sizeof got, 0, moved);
    ASSERT_TRUE(done || b.receive_now(1, bytes(got), sizeof got, moved)) << i;
    ASSERT_EQ(got, i);
    inlined += done;
  }
  EXPECT_GT(inlined, 0u);
  EXPECT_LT(inlined, std::min(kCreditLines, kCreditUnits)) << "none are where credit is owed";
  EXPECT_TRUE(b.progress()) << "it owes credit";
  EXPECT_FALSE(a.receive_inline(0, bytes(got), sizeof got, 0, moved)) << "a line of credit is no message";
  EXPECT_TRUE(a.progress());
  ASSERT_TRUE(b.send_inline(1, bytes(word), sizeof word));
  EXPECT_TRUE(a.receive_inline(1, bytes(got), sizeof got, 0, moved)) << "all of a's was read";
  EXPECT_EQ(got, word);
  EXPECT_TRUE(send(a));
}

// What they cannot do where memory is not mapped.
TEST_P(Messages, NoneGoAtOnceWhereNothingIsMapped) {
  Pair& p = pair(0, 1, false);
  std::byte eight[8]{};
  EXPECT_FALSE(p.a.link->send_now(1, eight, sizeof eight));
  expect_message(p, 1, sizeof eight, 3);
}

}  // namespace
}  // namespace plait::transport::conformance
