// Round after round: when one begins, and what comes of it.
#include <algorithm>

#include "base/log.h"
#include "runtime/queue/scheduler.h"

namespace plait::runtime::queue {

namespace {

constexpr int64_t kNever = int64_t(1) << 60;
// Where a round agreed on nothing the next one waits for something new, or an eighth of the time that this
// has gone on: others may have something new.
constexpr int64_t kShortestPauseNs = 20'000, kLongestPauseNs = 10'000'000;
// Of a trial: long enough that the work of some steps is in it.
constexpr uint64_t kTrialBytes = uint64_t(64) << 20;

}  // namespace

// How long until this rank should begin a round; 0: now.
int64_t Scheduler::round_due_ns(int64_t now) const noexcept {
  if (!line_.empty()) return 0;  // all ranks know of it, so all come
  if (waiting_ == 0) return kNever;
  if (fresh_ > 0) {
    if (hurried_ || fresh_bytes_ >= sizes_.fuse) return 0;
    return std::max<int64_t>(first_fresh_ns_ + config_.fuse_ns - now, 0);
  }
  const int64_t pause =
      std::clamp((round_ended_ns_ - stuck_since_ns_) / 8, kShortestPauseNs, kLongestPauseNs);
  return std::max<int64_t>(round_ended_ns_ + pause - now, 0);
}

bool Scheduler::wants_round(int64_t now) const noexcept { return round_due_ns(now) == 0; }

Status Scheduler::begin_round(int64_t now) {
  ballot_.calm();
  if (!strangers_.empty()) ballot_.ask_news();
  if (wants_census(now)) ballot_.ask_census();
  fresh_ = 0;
  counts_.rounds++;
  return council_.begin_round(ballot_);
}

Status Scheduler::end_step(Step step) {
  switch (step) {
    case Step::round:
      end_round(now_ns());
      break;
    case Step::news:
      PLAIT_TRY(end_news());
      break;
    case Step::census:
      PLAIT_TRY(end_census());
      break;
    case Step::trial:
      end_trial();
      break;
    case Step::none:
      break;
  }
  return next_step(step);
}

// After a round: all ranks ask for the same, as one that asks is heard by all.
Status Scheduler::next_step(Step done) {
  if (done < Step::news && council_.agreed().news()) {
    telling_.clear();
    for (size_t i = 0; i < std::min(strangers_.size(), Council::kMostNews); i++)
      telling_.push_back(strangers_[i]->tensor);
    counts_.news++;
    return council_.begin_news(telling_);
  }
  if (done < Step::census && council_.agreed().census()) return begin_census();
  if (done < Step::trial && tuner_ && !tuner_->settled() && trial_bytes_ >= kTrialBytes) {
    const int64_t now = now_ns();
    if (busy_since_ns_ != 0) {
      busy_ns_ += now - busy_since_ns_;
      busy_since_ns_ = now;
    }
    return council_.begin_trial(uint64_t(std::max<int64_t>(busy_ns_, 1)));
  }
  chosen_ = false;
  return {};
}

void Scheduler::end_round(int64_t now) {
  size_t agreed = 0;
  council_.agreed().each([&](uint32_t slot) {
    Ticket* t = here_[slot];
    t->agreed = true;
    t->agreed_ns = now;
    ballot_.clear(slot);
    line_.add(slot, t->tensor);
    agreed++;
  });
  line_.close_round();
  waiting_ -= agreed;
  if (agreed == 0) counts_.empty_rounds++;
  round_ended_ns_ = now;
  if (agreed > 0) stuck_since_ns_ = now;
}

Status Scheduler::end_news() {
  changed_.clear();
  const Status status = keys_.merge(council_.told(), &changed_);
  if (keys_.size() > here_.size()) {
    here_.resize(keys_.size());
    if (keys_.size() > ballot_.slots()) ballot_.resize(std::max(keys_.size(), 2 * ballot_.slots()));
  }
  if (!status.ok()) {
    agreed_failure_ = true;
    return status;
  }
  for (uint32_t slot : changed_) {
    Ticket* t = here_[slot];
    if (t == nullptr || t->agreed || t->tensor == keys_[slot]) continue;
    here_[slot] = nullptr;
    ballot_.clear(slot);
    strange_keys_.insert(t->tensor.key);
    strangers_.push_back(t);
  }
  introduce();
  return {};
}

// Strangers whose kind is known now.
void Scheduler::introduce() noexcept {
  std::erase_if(strangers_, [&](Ticket* t) {
    const uint32_t slot = keys_.find(t->tensor.key);
    if (slot == Keys::kNone || keys_[slot] != t->tensor) return false;
    strange_keys_.erase(t->tensor.key);
    found(t, slot);
    fresh_++;
    return true;
  });
  first_fresh_ns_ = round_ended_ns_ - config_.fuse_ns;  // they have waited for a round
}

void Scheduler::end_trial() {
  const double rate = double(trial_bytes_) / double(council_.longest_ns()) * 1e9;
  trial_bytes_ = 0;
  busy_ns_ = 0;
  if (!tuner_->measured(rate)) return;
  sizes_ = tuner_->sizes();
  if (council_.comm().rank() == 0) log::info("queue: autotune: {}", tuner_->log().back());
}

}  // namespace plait::runtime::queue
