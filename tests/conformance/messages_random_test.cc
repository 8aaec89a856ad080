// Random scripts: sends and receives of random tags, sizes and groups in random order, ranks polled in random
// turns. What came must be what the k-th send of each tag sent.
//
// PLAIT_TEST_SEED=n begins with seed n; PLAIT_TEST_ROUNDS=n runs n seeds a back end (4; 2 with
// sanitizers).
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <random>

#include "conformance/messages_fixture.h"
#include "support/all_are.h"

namespace plait::transport::conformance {
namespace {

#ifdef PLAIT_SANITIZED
constexpr uint64_t kRounds = 2;
#else
constexpr uint64_t kRounds = 4;
#endif

uint64_t number_of(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// One direction of a link: what was sent and what is waited for.
class Direction {
 public:
  Direction(Party& from, Party& to, std::mt19937_64& random) : from_(from), to_(to), random_(random) {}

  struct Piece {
    size_t at = 0, bytes = 0;
    uint8_t seed = 0;
  };
  // A length that all ways of moving are tried with.
  size_t length() {
    const size_t most[] = {1, 33, 300, kEagerBytes, kEagerBytes + 2, 40'000, kFarEagerBytes + 2, 200'000};
    return size_t(random_() % most[random_() % std::size(most)]);
  }
  // What the k-th message of a tag is, decided by whichever side comes to it first.
  Piece& piece(uint32_t tag, size_t k) {
    auto& of = pieces_[tag];
    while (of.size() <= k) of.push_back({0, length(), uint8_t(random_())});
    return of[k];
  }

  bool send(Buffer& from) {
    const auto tag = uint32_t(random_() % kTags);
    const Piece& m = piece(tag, sent_[tag]);
    auto copy = std::make_unique<Bytes>(m.bytes);
    std::fill(copy->begin(), copy->end(), std::byte(m.seed));
    LocalSlice data{copy->data(), m.bytes, nullptr};
    if (random_() % 4 != 0 && next_from_ + m.bytes <= from.size()) {
      data = random_() % 2 == 0 ? from.local(next_from_, m.bytes) : from_.shared(next_from_, m.bytes);
      if (m.bytes > 0) std::memcpy(data.data, copy->data(), m.bytes);
    }
    MessageRequest* r = from_.link->send(tag, data);
    if (r == nullptr) return false;
    if (data.region != nullptr) next_from_ += m.bytes;
    sent_[tag]++;
    sends_.push_back({r, std::move(copy)});
    return true;
  }

  bool receive(Buffer& to) {
    const size_t n = random_() % 3 != 0 ? 1 : 1 + random_() % kMessageTogether;
    Waiting w;
    std::vector<MessageSlot> slots;
    std::map<uint32_t, size_t> more;
    size_t next = next_to_;
    for (size_t i = 0; i < n; i++) {
      const auto tag = uint32_t(random_() % kTags);
      const Piece& m = piece(tag, received_[tag] + more[tag]++);
      const size_t room = m.bytes + random_() % 3 * 5000;
      const bool plain = random_() % 4 == 0;
      if (next + room > to.size()) return false;
      LocalSlice data = to.local(next, room);
      if (plain) data.region = nullptr;
      slots.push_back({tag, data});
      w.places.push_back(data.data);
      w.pieces.push_back(m);
      next += room;
    }
    w.request = to_.link->receive(slots);
    if (w.request == nullptr) return false;
    next_to_ = next;
    for (const auto& [tag, count] : more) received_[tag] += count;
    waiting_.push_back(std::move(w));
    return true;
  }

  // Both sides have as many of each tag as the other.
  void even_out(Buffer& to) {
    for (uint32_t tag = 0; tag < kTags; tag++) {
      while (received_[tag] < sent_[tag]) {
        const Piece& m = piece(tag, received_[tag]);
        if (next_to_ + m.bytes > to.size()) next_to_ = to.size() - m.bytes;
        Waiting w;
        w.extra = std::make_unique<Bytes>(m.bytes);
        w.places.push_back(w.extra->data());
        w.pieces.push_back(m);
        w.request = to_.link->receive(tag, {w.extra->data(), m.bytes, nullptr});
        if (w.request == nullptr) return;
        received_[tag]++;
        waiting_.push_back(std::move(w));
      }
      while (sent_[tag] < received_[tag]) {
        const Piece& m = piece(tag, sent_[tag]);
        auto copy = std::make_unique<Bytes>(m.bytes, std::byte(m.seed));
        MessageRequest* r = from_.link->send(tag, {copy->data(), m.bytes, nullptr});
        if (r == nullptr) return;
        sent_[tag]++;
        sends_.push_back({r, std::move(copy)});
      }
    }
  }
  bool even() { return sent_ == received_; }

  // Releases what is done, in random order; empty: all was right.
  std::string collect() {
    for (size_t i = 0; i < sends_.size();) {
      if (!sends_[i].request->done()) {
        i++;
        continue;
      }
      if (!sends_[i].request->status().ok()) return std::string(sends_[i].request->status().text());
      std::fill(sends_[i].copy->begin(), sends_[i].copy->end(), std::byte{0xee});  // it is ours again
      from_.link->release(sends_[i].request);
      sends_.erase(sends_.begin() + ptrdiff_t(i));
    }
    for (size_t i = 0; i < waiting_.size();) {
      if (!waiting_[i].request->done()) {
        i++;
        continue;
      }
      const std::string wrong = check(waiting_[i]);
      if (!wrong.empty()) return wrong;
      to_.link->release(waiting_[i].request);
      waiting_.erase(waiting_.begin() + ptrdiff_t(i));
    }
    return {};
  }
  bool idle() const { return sends_.empty() && waiting_.empty(); }
  std::string left() const {
    return std::to_string(sends_.size()) + " sends and " + std::to_string(waiting_.size()) +
           " receives are left";
  }

 private:
  static constexpr uint32_t kTags = 4;
  struct Sending {
    MessageRequest* request;
    std::unique_ptr<Bytes> copy;
  };
  struct Waiting {
    MessageRequest* request = nullptr;
    std::vector<const std::byte*> places;
    std::vector<Piece> pieces;
    std::unique_ptr<Bytes> extra;
  };
  static std::string check(const Waiting& w) {
    if (!w.request->status().ok()) return std::string(w.request->status().text());
    for (size_t i = 0; i < w.pieces.size(); i++) {
      const Piece& m = w.pieces[i];
      if (w.request->bytes()[i] != m.bytes)
        return std::to_string(w.request->bytes()[i]) + " bytes came, not " + std::to_string(m.bytes);
      if (!plait::test::all_are(w.places[i], m.bytes, std::byte(m.seed))) return "other bytes came";
    }
    return {};
  }

  Party &from_, &to_;
  std::mt19937_64& random_;
  std::map<uint32_t, std::deque<Piece>> pieces_;
  std::array<size_t, kTags> sent_{}, received_{};
  std::vector<Sending> sends_;
  std::vector<Waiting> waiting_;
  size_t next_from_ = 0, next_to_ = 0;
};

TEST_P(Messages, RandomScripts) {
  const uint64_t first = number_of("PLAIT_TEST_SEED", std::random_device{}());
  const uint64_t rounds = number_of("PLAIT_TEST_ROUNDS", kRounds);
  for (uint64_t seed = first; seed < first + rounds; seed++) {
    SCOPED_TRACE("PLAIT_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    constexpr size_t kRoom = 4 << 20;
    Pair& p = pair(0, 1, random() % 2 == 0, kRoom);
    Buffer *from[2], *to[2];
    for (int r = 0; r < 2; r++) {
      from[r] = &source(r, kRoom, 0);
      to[r] = &target(r, kRoom);
    }
    Direction ways[2] = {Direction(p.a, p.b, random), Direction(p.b, p.a, random)};
    for (int action = 0; action < 250; action++) {
      const int r = int(random() % 2);
      switch (random() % 3) {
        case 0:
          (void)ways[r].send(*from[r]);
          break;
        case 1:
          (void)ways[r].receive(*to[1 - r]);
          break;
        default:
          for (uint64_t n = random() % 6; n > 0; n--) step(int(random() % 2));
          for (auto& way : ways) ASSERT_EQ(way.collect(), "");
      }
    }
    ASSERT_TRUE(run([&] {
      bool all = true;
      for (int r = 0; r < 2; r++) {
        ways[r].even_out(*to[1 - r]);
        const std::string wrong = ways[r].collect();
        if (!wrong.empty()) ADD_FAILURE() << wrong;
        all = all && ((ways[r].even() && ways[r].idle()) || !wrong.empty());
      }
      return all;
    })) << ways[0].left()
        << "; " << ways[1].left();
  }
}

}  // namespace
}  // namespace plait::transport::conformance
