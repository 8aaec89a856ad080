// Messages: the receiver keeps receives posted. When the sender has sent all it tells how many there were, on
// the first lane, and is done when the receiver answers that it has them.
#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

#include "perf/pair/stream.h"

namespace plait::perf::pair {
namespace {

using transport::MessageRequest;

constexpr uint32_t kEndTag = 1, kAnswerTag = 2;

// A word that travels as a message; memory without a region is copied.
struct Word {
  uint64_t value = 0;
  MessageRequest* request = nullptr;
  transport::LocalSlice slice() noexcept {
    return {reinterpret_cast<std::byte*>(&value), sizeof value, nullptr};
  }
  bool done() const noexcept { return request != nullptr && request->done(); }
  void release(transport::MessageLink& link) noexcept {
    if (request != nullptr) link.release(request);
    request = nullptr;
  }
};

class Sender final : public Stream {
 public:
  Sender(Session& session, const Load& load) : session_(session), load_(load), lanes_(session.lanes()) {
    answer_.request = link(0).receive(kAnswerTag, answer_.slice());
  }

  bool step() override {
    bool moved = session_.move_messages();
    for (size_t i = 0; i < lanes_.size(); i++) moved = send(i) || moved;
    if (all_sent()) moved = tell_end() || moved;
    return moved;
  }
  void stop() override { stopped_ = true; }
  bool finished() const override { return answered_; }
  uint64_t arrived() override { return std::exchange(left_, 0); }

 private:
  struct Under {
    std::deque<MessageRequest*> requests;  // in the order in which they were begun
    uint64_t sent = 0;
  };
  transport::MessageLink& link(size_t i) noexcept { return *session_.lane(i).messages; }
  bool more(const Under& lane) const noexcept {
    return !stopped_ && (load_.count == 0 || lane.sent < load_.count);
  }
  bool release(size_t i) {
    Under& lane = lanes_[i];
    bool moved = false;
    for (; !lane.requests.empty() && lane.requests.front()->done(); moved = true) {
      link(i).release(lane.requests.front());
      lane.requests.pop_front();
      left_++;
    }
    return moved;
  }
  bool send(size_t i) {
    Under& lane = lanes_[i];
    bool moved = release(i);
    const uint32_t room = session_.depth() - uint32_t(lane.requests.size());
    const uint32_t list = session_.options().post_list;
    if (room < list && !lane.requests.empty()) return moved;
    for (uint32_t k = 0; k < std::min(room, list) && more(lane); k++) {
      MessageRequest* request = link(i).send(kDataTag, next(i));
      if (request == nullptr) break;
      lane.requests.push_back(request);
      lane.sent++;
      session_.lane(i).sent++;
      moved = true;
    }
    return moved;
  }
  transport::LocalSlice next(size_t i) {
    const uint64_t number = session_.lane(i).sent;
    const auto slice = session_.out(i, number, load_.bytes);
    if (session_.options().validate) fill({slice.data, slice.bytes}, session_.stream(i, false), number);
    return slice;
  }
  bool all_sent() const noexcept {
    return std::all_of(lanes_.begin(), lanes_.end(),
                       [this](const Under& lane) { return lane.requests.empty() && !more(lane); });
  }
  bool tell_end() {
    if (answered_) return false;
    if (end_.request == nullptr) {
      end_.value = 0;
      for (const Under& lane : lanes_) end_.value += lane.sent;
      end_.request = link(0).send(kEndTag, end_.slice());
    }
    if (!end_.done() || !answer_.done()) return false;
    end_.release(link(0));
    answer_.release(link(0));
    return answered_ = true;
  }

  Session& session_;
  const Load load_;
  std::vector<Under> lanes_;
  Word end_, answer_;
  uint64_t left_ = 0;
  bool stopped_ = false, answered_ = false;
};

class Receiver final : public Stream {
 public:
  Receiver(Session& session, const Load& load) : session_(session), load_(load) {
    end_.request = link(0).receive(kEndTag, end_.slice());
    for (size_t i = 0; i < session_.lanes(); i++) post_receives(session_, i);
  }

  bool step() override {
    bool moved = session_.move_messages();
    for (size_t i = 0; i < session_.lanes(); i++) moved = take(i) || moved;
    return answer() || moved;
  }
  bool finished() const override { return finished_; }

 private:
  transport::MessageLink& link(size_t i) noexcept { return *session_.lane(i).messages; }
  bool take(size_t i) {
    Lane& lane = session_.lane(i);
    bool moved = false;
    for (; !lane.receives.empty() && lane.receives.front()->done(); moved = true) {
      wrong_ += take_received(session_, i, load_.bytes);
      total_++;
    }
    if (moved) post_receives(session_, i);
    return moved;
  }
  bool answer() {
    if (finished_ || !end_.done() || total_ < end_.value) return false;
    if (answer_.request == nullptr) answer_.request = link(0).send(kAnswerTag, answer_.slice());
    if (!answer_.done() || !link(0).flushed()) return false;
    end_.release(link(0));
    answer_.release(link(0));
    return finished_ = true;
  }

  Session& session_;
  const Load load_;
  Word end_, answer_;
  uint64_t total_ = 0;
  bool finished_ = false;
};

}  // namespace

void post_receives(Session& session, size_t i) {
  Lane& lane = session.lane(i);
  while (lane.receives.size() < session.receives()) {
    MessageRequest* request =
        lane.messages->receive(kDataTag, session.in(i, lane.posted, session.most_bytes()));
    if (request == nullptr) return;
    lane.receives.push_back(request);
    lane.posted++;
  }
}

uint64_t take_received(Session& session, size_t i, size_t bytes) {
  Lane& lane = session.lane(i);
  MessageRequest* request = lane.receives.front();
  uint64_t wrong = 0;
  if (session.options().validate) {
    const size_t came = std::min(request->bytes()[0], bytes);
    const auto slice = session.in(i, lane.taken, came);
    wrong = bytes - came + count_wrong({slice.data, came}, session.stream(i, true), lane.taken);
  }
  lane.messages->release(request);
  lane.receives.pop_front();
  lane.taken++;
  return wrong;
}

std::unique_ptr<Stream> make_sender(Session& session, const Load& load) {
  return std::make_unique<Sender>(session, load);
}

std::unique_ptr<Stream> make_receiver(Session& session, const Load& load) {
  return std::make_unique<Receiver>(session, load);
}

}  // namespace plait::perf::pair
