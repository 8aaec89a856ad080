// Writes: puts of which each is done once its bytes are in the other side's memory.
//
// Where they are checked, they go in windows of one message a slot. The checker counts the signals of a
// window, looks at its bytes and gives credit for the next one, by a signal.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "perf/pair/stream_transfers.h"

namespace plait::perf::pair {
namespace {

using transport::Transfer;
using transport::Verb;
using transport::When;

uint16_t counter_of(size_t bytes) noexcept { return bytes <= kShortBytes ? kShortCounter : kLongCounter; }

Transfer shape_of(const Session& session, const Load& load) {
  Transfer t;
  t.verb = Verb::put;
  t.when = When::delivered;
  t.signal = {counter_of(load.bytes), uint16_t(session.options().validate)};
  return t;
}

uint64_t seen(Lane& lane, uint16_t counter) noexcept {
  return lane.endpoint->counter(counter).load(std::memory_order_acquire);
}

class Writer final : public TransferStream {
 public:
  Writer(Session& session, const Load& load)
      : TransferStream(session, load, shape_of(session, load), session.options().news_every) {
    for (size_t i = 0; i < session.lanes(); i++) credits_.push_back({seen(session.lane(i), kCreditCounter)});
  }
  bool step() override {
    if (checks()) take_credit();
    return TransferStream::step();
  }
  // Checked ones end with a window, so that the checker need not know which was the last, and with its
  // credit, so that none of it comes later.
  bool finished() const override {
    for (size_t i = 0; i < lanes_.size(); i++) {
      const Count& lane = lanes_[i];
      if (lane.done != lane.posted) return false;
      if (lane.posted < (stopped_ ? std::min(allowed(i), wanted()) : wanted())) return false;
      if (checks() && paid(i) < (lane.done + session_.slots() - 1) / session_.slots()) return false;
    }
    return true;
  }

 protected:
  uint64_t allowed(size_t i) const override {
    const uint64_t posted = lanes_[i].posted;
    if (!checks()) return !stopped_ ? UINT64_MAX : posted == 0 ? 0 : next_news(posted - 1);
    return credits_[i].windows * session_.slots();
  }
  void aim(size_t i, uint64_t number, Transfer& t) override {
    if (checks()) fill_once(i, number);
    t.local = session_.out(i, number, load_.bytes);
    t.remote = session_.there(i, number, load_.bytes);
  }

 private:
  struct Credit {
    uint64_t before = 0;   // signals of measurements that are over
    uint64_t windows = 1;  // that may be written
    uint64_t filled = 0;   // messages
  };
  // Once the one before is checked, unless it was the last.
  void take_credit() noexcept {
    for (size_t i = 0; i < credits_.size(); i++) {
      Credit& credit = credits_[i];
      const Count& lane = lanes_[i];
      if (stopped_ || lane.done != credit.windows * session_.slots()) continue;
      if (paid(i) >= credit.windows) credit.windows++;
    }
  }
  uint64_t paid(size_t i) const noexcept {
    return seen(session_.lane(i), kCreditCounter) - credits_[i].before;
  }
  void fill_once(size_t i, uint64_t number) noexcept {
    Credit& credit = credits_[i];
    if (number < credit.filled) return;
    const auto slice = session_.out(i, number, load_.bytes);
    fill({slice.data, slice.bytes}, session_.stream(i, false), number);
    credit.filled = number + 1;
  }

  std::vector<Credit> credits_;
};

class WriteChecker final : public Stream {
 public:
  WriteChecker(Session& session, const Load& load) : session_(session), load_(load) {
    for (size_t i = 0; i < session.lanes(); i++) {
      lanes_.push_back({seen(session.lane(i), counter_of(load.bytes))});
      scrub(i);
    }
  }
  bool step() override {
    bool moved = false;
    for (size_t i = 0; i < lanes_.size(); i++) moved = look(i) || moved;
    return moved;
  }
  // The other side says when it has written its last one: all that it wrote has been signalled by then.
  bool finished() const override {
    for (size_t i = 0; i < lanes_.size(); i++)
      if (lanes_[i].owes || landed(i) != lanes_[i].checked) return false;
    return true;
  }

 private:
  struct Window {
    uint64_t before = 0, checked = 0;
    bool owes = false;  // credit
  };
  uint64_t landed(size_t i) const noexcept {
    return seen(session_.lane(i), counter_of(load_.bytes)) - lanes_[i].before;
  }
  void scrub(size_t i) noexcept {
    for (uint32_t slot = 0; slot < session_.slots(); slot++) {
      const auto slice = session_.in(i, slot, load_.bytes);
      std::memset(slice.data, 0, slice.bytes);
    }
  }
  bool look(size_t i) {
    Window& lane = lanes_[i];
    if (lane.owes) return pay(i);
    const uint64_t next = lane.checked + session_.slots();
    const uint64_t end = load_.count == 0 ? next : std::min(next, load_.count);
    if (lane.checked == end || landed(i) < end) return false;
    for (; lane.checked < end; lane.checked++) {
      const auto slice = session_.in(i, lane.checked, load_.bytes);
      wrong_ += count_wrong({slice.data, slice.bytes}, session_.stream(i, true), lane.checked);
    }
    scrub(i);
    lane.owes = true;
    return pay(i) || true;
  }
  bool pay(size_t i) {
    Transfer t;
    t.signal = {kCreditCounter, 1};
    lanes_[i].owes = session_.lane(i).endpoint->post({&t, 1}) == 0;
    return !lanes_[i].owes;
  }

  Session& session_;
  const Load load_;
  std::vector<Window> lanes_;
};

}  // namespace

std::unique_ptr<Stream> make_writer(Session& session, const Load& load) {
  return std::make_unique<Writer>(session, load);
}

std::unique_ptr<Stream> make_write_checker(Session& session, const Load& load) {
  return std::make_unique<WriteChecker>(session, load);
}

}  // namespace plait::perf::pair
