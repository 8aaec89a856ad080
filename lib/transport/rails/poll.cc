// Polling and sleeping.
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "transport/rails/domain.h"

namespace plait::transport::rails {

namespace {

constexpr uint32_t kQuiet = 2048;    // polls until a rail is polled only ...
constexpr uint32_t kQuietEvery = 8;  // ... in such a turn
constexpr uint32_t kTickEvery = 32;  // polls
constexpr size_t kAtOnce = 16;       // endpoints that a poll looks at ...
constexpr size_t kHot = 8;           // ... and those that stirred lately

}  // namespace

// One rail a poll: each may move 256 KiB. Those where nothing moves wait for their turn longer.
size_t RailsDomain::next_rail() noexcept {
  const size_t count = rails_.size();
  if (count == 1) return 0;
  for (uint32_t& quiet : quiet_) ++quiet;
  if (sweep_ != 0 || ++turn_ % kQuietEvery == 0) {
    if (sweep_ != 0) --sweep_;
    return ++all_turn_ % count;
  }
  for (size_t i = 0; i < count; ++i) {
    first_ = (first_ + 1) % count;
    if (quiet_[first_] < kQuiet) return first_;
  }
  return ++all_turn_ % count;
}

size_t RailsDomain::poll(std::span<Done> done) noexcept {
  const bool woke = std::exchange(armed_, false);
  if (woke) sweep_ = rails_.size();
  const size_t rail = next_rail();
  const size_t count = rails_[rail]->poll(some_);
  if (count != 0) stirred(rail);
  for (const Done& one : std::span(some_).first(count)) dispatch(rail, one);
  step();
  if (woke || ++polls_ % kTickEvery == 0) tick(now_ns());
  return dones_.empty() ? 0 : give(done);
}

// All endpoints, where they are few. Else those that stirred lately, and some of the others.
void RailsDomain::step() noexcept {
  const size_t count = endpoints_.size();
  for (RailsEndpoint* endpoint : hot_) endpoint->step();
  for (size_t i = 0; i < std::min(count, kAtOnce); ++i) {
    RailsEndpoint* endpoint = endpoints_[looked_++ % count];
    if (endpoint->step() && count > kAtOnce && std::ranges::find(hot_, endpoint) == hot_.end()) {
      if (hot_.size() == kHot) hot_.erase(hot_.begin());
      hot_.push_back(endpoint);
    }
  }
}

int64_t RailsDomain::tick(int64_t now) noexcept {
  if (timer_at_ns_ != 0 && now >= timer_at_ns_) {
    uint64_t times = 0;
    [[maybe_unused]] const ssize_t n = read(timer_.get(), &times, sizeof times);
    timer_at_ns_ = 0;
  }
  int64_t due = INT64_MAX;
  for (RailsEndpoint* endpoint : endpoints_) due = std::min(due, endpoint->tick(now));
  return due;
}

size_t RailsDomain::give(std::span<Done> done) noexcept {
  size_t count = 0;
  while (count < done.size() && !dones_.empty()) {
    const DoneItem& item = dones_.front();
    if (!item.gone || !item.own) done[count++] = item.done;
    if (item.owner != nullptr && !item.own) item.owner->harvested();
    dones_.pop();
  }
  if (!dones_.empty()) return count;
  for (; gone_ != 0; --gone_) pools_.dones.unreserve(capabilities_.depth + size_t{1});
  return count;
}

// One that comes earlier than it must is left alone.
void RailsDomain::set_timer(int64_t at_ns) noexcept {
  if (timer_at_ns_ != 0 && timer_at_ns_ <= at_ns) return;
  itimerspec when{};
  when.it_value = {at_ns / 1'000'000'000, at_ns % 1'000'000'000};
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
  timer_at_ns_ = at_ns;
}

// The rails first: a counter that a peer's store moves after that wakes, and one that moved before is seen
// here.
bool RailsDomain::arm() noexcept {
  if (!dones_.empty()) return false;
  armed_ = true;
  sweep_ = rails_.size();
  for (const auto& rail : rails_) {
    if (!rail->arm()) return false;
  }
  bool moved = false;
  for (RailsEndpoint* endpoint : endpoints_) moved |= endpoint->step();
  const int64_t due = tick(now_ns());
  if (moved || !dones_.empty() || due <= now_ns()) return false;
  if (due != INT64_MAX) set_timer(due);
  // What was posted just now may have given a rail something to do.
  return std::ranges::all_of(rails_, [](const auto& rail) { return rail->arm(); });
}

}  // namespace plait::transport::rails
