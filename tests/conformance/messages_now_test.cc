// Short messages without a request: they keep the order of all others, and what they cannot do changes
// nothing.
#include <algorithm>
#include <cstring>
#include <deque>
#include <random>

#include "conformance/messages_fixture.h"
#include "support/all_are.h"

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
  Notes(std::mt19937_64& random, const std::function<bool(MessageRequest*)>& finish)
      : random_(random), finish_(finish) {}

  // The source is the caller's again at once.
  void send(MessageLink& from, const Note& note) {
    auto source = std::make_unique<Bytes>(note.bytes);
    if (random_() % 8 != 0 && from.send_now(note.tag, source->data(), source->size())) {
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
    if (to.receive_now(kTags, place.data(), place.size(), moved)) return "a message of another tag came";
    if (!note.bytes.empty() && to.receive_now(note.tag, place.data(), note.bytes.size() - 1, moved))
      return "a message came that is too long";
    if (!plait::test::all_are(place.data(), place.size(), std::byte{0x55})) return "bytes of no message came";
    if (random_() % 4 != 0 && to.receive_now(note.tag, place.data(), place.size(), moved)) {
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

 private:
  std::mt19937_64& random_;
  const std::function<bool(MessageRequest*)> finish_;
  std::vector<MessageRequest*> requests_;
  std::vector<std::unique_ptr<Bytes>> sources_;
};

TEST_P(Messages, ShortOnesNeedNoRequest) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Pair& p = pair();
  Notes notes(random, [this](MessageRequest* r) { return finish(r); });
  for (int burst = 0; burst < 200; burst++) {
    Party &from = random() % 2 == 0 ? p.a : p.b, &to = &from == &p.a ? p.b : p.a;
    std::deque<Note> under_way(1 + random() % 20);
    for (Note& note : under_way) notes.send(*from.link, note = random_note(random));
    for (const Note& note : under_way) ASSERT_EQ(notes.receive(*to.link, note), "");
    ASSERT_EQ(notes.finish(*from.link), "");
  }
  EXPECT_EQ(notes.sent > 0, notes.received > 0) << notes.sent << " sent, " << notes.received << " received";
  RecordProperty("sent_now", int(notes.sent));
  RecordProperty("received_now", int(notes.received));
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
