#include "sim/run.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace plait::sim {

double Path::total() const noexcept {
  double sum = 0;
  for (double s : seconds) sum += s;
  return sum;
}

Run::Run(const Scripts& scripts, const Cut& cut, const Network& network, const Parameters& parameters,
         std::span<const Change> changes, const Options& options)
    : scripts_(scripts),
      cut_(cut),
      network_(network),
      p_(parameters),
      changes_(changes),
      options_(options),
      ideal_(network.links() == 0),
      windows_(std::min(cut.segments, std::max(1u, parameters.windows / scripts.lanes()))),
      fluid_(network) {
  place();
}

// Who has which streams, and room for their state.
void Run::place() {
  ranks_.resize(scripts_.ranks());
  slots_.resize(ranks_.size() * windows_);
  size_t waits = 0;
  for (uint32_t r = 0; r < ranks_.size(); r++) {
    Rank& rank = ranks_[r];
    rank.script = &scripts_.of(r);
    rank.streams = uint32_t(lanes_.size());
    rank.waits = waits;
    waits += rank.script->nodes.size() * windows_;
    all_ += rank.script->nodes.size() * cut_.segments;
    for (const Stream& s : scripts_.cast(r).streams) lanes_.push_back({.rank = int32_t(r), .peer = s.peer});
    rank.sends_at = scripts_.cast(r).sends_at;
    const uint32_t sends_at = rank.streams + rank.sends_at;
    for (uint32_t s = sends_at; s < lanes_.size(); s++)
      lanes_[s].lead = s > sends_at && lanes_[s - 1].peer == lanes_[s].peer ? lanes_[s - 1].lead : s;
  }
  waits_.resize(waits);
  flights_.resize(lanes_.size() * windows_);
  for (const Change& c : changes_)
    if (c.kind == Change::Kind::slow) ranks_[c.target].slow *= c.factor;
}

void Run::at(double time, What what, uint32_t id) {
  if (time <= now_) return soon_.push_back({now_, 0, id, what});
  heap_.push({time, order_++, id, what});
}

Result<Outcome> Run::run() {
  for (uint32_t i = 0; i < changes_.size(); i++) {
    if (changes_[i].kind == Change::Kind::slow) continue;
    if (changes_[i].at <= 0)
      change(i);
    else
      at(changes_[i].at, What::change, i);
  }
  for (uint32_t r = 0; r < ranks_.size(); r++) {
    if (ranks_[r].script->nodes.empty()) continue;
    for (uint32_t s = 0; s < windows_; s++) begin_segment(r, s, s);
  }
  loop();
  PLAIT_TRY(status_);
  Outcome outcome;
  sum_up(outcome);
  if (finished_ < all_) find_stuck(outcome);
  return outcome;
}

void Run::loop() {
  constexpr uint64_t kEvery = 1 << 12;
  while (status_.ok()) {
    // What rounding alone tells apart is one instant, in which rates are found once.
    const double instant = now_ * (1 + 1e-12);
    if ((++events_ & (kEvery - 1)) == 0 && options_.progress && !options_.progress(share())) return give_up();
    if (!heap_.empty() && heap_.top().time <= now_) {
      const Event e = heap_.top();
      heap_.pop();
      handle(e);
    } else if (soon_next_ < soon_.size()) {
      const Event e = soon_[soon_next_++];
      if (soon_next_ == soon_.size()) soon_.clear(), soon_next_ = 0;
      handle(e);
    } else if (fluid_.next() <= instant) {
      fluid_.end_next(now_, [this](uint32_t message, bool gone) { drained(message, gone); });
    } else if (!heap_.empty() && heap_.top().time <= instant) {
      now_ = heap_.top().time;
    } else if (fluid_.unsettled()) {
      fluid_.settle(now_);
      if ((++refills_ & 63) == 0 && options_.progress && !options_.progress(share())) return give_up();
    } else {
      const double next = std::min(fluid_.next(), heap_.empty() ? Fluid::kNever : heap_.top().time);
      if (next == Fluid::kNever) return;
      now_ = next;
    }
  }
}

void Run::give_up() {
  status_ = {Code::timeout, fmt::format("took too long: {:.2g} % were done", 100 * share())};
}

void Run::handle(const Event& e) {
  switch (e.what) {
    case What::over:
      return over(e.id);
    case What::leave:
      return leave(e.id);
    case What::inject:
      return inject(e.id);
    case What::enter:
      return enter_ideal(e.id);
    case What::arrive:
      return arrive(e.id);
    case What::ready:
      return ready(e.id);
    case What::sent:
      return sent(e.id);
    case What::credit:
      flights_[e.id].out--;
      return pump(e.id / windows_, e.id % windows_);
    case What::change:
      return change(e.id);
  }
}

}  // namespace plait::sim
