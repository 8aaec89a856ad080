// What writers and readers have in common: transfers on lanes, as many under way as -t says.
//
// With -Q not each tells that it has arrived, but each so many: they arrive in order, so it tells of those
// before it, too.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "perf/pair/stream.h"

namespace plait::perf::pair {

class TransferStream : public Stream {
 public:
  // `news_every`: of transfers that arrive in the order in which they were posted; else 1.
  TransferStream(Session& session, const Load& load, transport::Transfer shape, uint32_t news_every = 1)
      : session_(session),
        load_(load),
        shape_(shape),
        lanes_(session.lanes()),
        batch_(std::min(session.options().post_list, session.depth())),
        // There is room for a list when no news is to come any more.
        news_every_(std::clamp<uint32_t>(news_every, 1, session.depth() - uint32_t(batch_.size()) + 1)) {}

  bool step() override {
    bool moved = false;
    for (size_t i = 0; i < lanes_.size(); i++) moved = post(i) || moved;
    return moved;
  }
  void done(size_t lane) override {
    if (lane >= lanes_.size()) return;
    const uint64_t before = std::exchange(lanes_[lane].done, next_news(lanes_[lane].done));
    arrived_ += lanes_[lane].done - before;
    settle(lane);
  }
  void stop() override { stopped_ = true; }
  uint64_t arrived() override { return std::exchange(arrived_, 0); }

 protected:
  struct Count {
    uint64_t posted = 0, done = 0;
  };
  // How many of a lane may have been posted by now.
  virtual uint64_t allowed(size_t lane) const = 0;
  // Slots of `shape_` in either memory, for the message of this number.
  virtual void aim(size_t lane, uint64_t number, transport::Transfer& transfer) = 0;
  // One more of a lane is done.
  virtual void settle(size_t) {}

  // The first number of messages above `done` that are told to have arrived.
  uint64_t next_news(uint64_t done) const noexcept {
    uint64_t next = (done / news_every_ + 1) * news_every_;
    if (checks()) next = std::min(next, (done / session_.slots() + 1) * session_.slots());
    return std::min(next, wanted());
  }
  uint64_t wanted() const noexcept { return load_.count == 0 ? UINT64_MAX : load_.count; }
  bool checks() const noexcept { return session_.options().validate; }

  Session& session_;
  const Load load_;
  const transport::Transfer shape_;
  std::vector<Count> lanes_;
  bool stopped_ = false;

 private:
  // A list at once, as far as there is room for it.
  bool post(size_t i) {
    Count& lane = lanes_[i];
    const uint64_t most = std::min({allowed(i), wanted(), lane.done + session_.depth()});
    if (lane.posted >= most) return false;
    const size_t list = size_t(std::min<uint64_t>(batch_.size(), most - lane.posted));
    if (list < batch_.size() && lane.posted + list < std::min(allowed(i), wanted())) return false;
    for (size_t k = 0; k < list; k++) {
      batch_[k] = shape_;
      batch_[k].cookie = Session::transfer_cookie(i);
      aim(i, lane.posted + k, batch_[k]);
      if (next_news(lane.posted + k) != lane.posted + k + 1) batch_[k].when = transport::When::never;
    }
    const size_t taken = session_.lane(i).endpoint->post({batch_.data(), list});
    lane.posted += taken;
    return taken != 0;
  }

  std::vector<transport::Transfer> batch_;
  const uint32_t news_every_;
  uint64_t arrived_ = 0;
};

}  // namespace plait::perf::pair
