#include "runtime/queue/tuner.h"

#include <algorithm>
#include <cstdio>

namespace plait::runtime::queue {

Tuner::Tuner(const TunerBounds& bounds, const Sizes& start) : bounds_(bounds), best_(start), trial_(start) {}

bool Tuner::measured(double rate) {
  if (settled_) return false;
  trial_rate_ = std::max(trial_rate_, rate);
  if (++repeats_ < kRepeats) return false;
  judge();
  next_way();
  repeats_ = 0;
  trial_rate_ = 0;
  return true;
}

// False where it leads out of bounds.
bool Tuner::point(uint32_t way, Sizes* to) const noexcept {
  *to = best_;
  uint64_t& value = way < 2 ? to->fuse : to->chunk;
  value = way % 2 == 0 ? value * 2 : value / 2;
  const uint64_t least = way < 2 ? bounds_.fuse_min : bounds_.chunk_min;
  const uint64_t most = way < 2 ? bounds_.fuse_max : bounds_.chunk_max;
  if (way >= 2) to->window = std::max(best_.window, 2 * value);
  return value >= least && value <= most;
}

bool Tuner::seen(const Sizes& sizes) const noexcept {
  return std::any_of(seen_.begin(), seen_.end(),
                     [&](const Sizes& s) { return s.fuse == sizes.fuse && s.chunk == sizes.chunk; });
}

void Tuner::judge() {
  const bool first = way_ == kWays, better = first || trial_rate_ > best_rate_ * kBetter;
  char line[160];
  std::snprintf(line, sizeof line, "fuse_bytes %llu, chunk_bytes %llu: %.1f MB/s, %s",
                static_cast<unsigned long long>(trial_.fuse), static_cast<unsigned long long>(trial_.chunk),
                trial_rate_ * 1e-6,
                first    ? "the beginning"
                : better ? "better"
                         : "not better");
  log_.emplace_back(line);
  seen_.push_back(trial_);
  if (better) {
    best_ = trial_;
    best_rate_ = trial_rate_;
    failed_ = 0;
    if (first) way_ = kWays - 1;  // next_way() begins with 0
    // The same way once more: next_way() goes on from the one before.
    else
      way_ = (way_ + kWays - 1) % kWays;
  } else {
    failed_++;
  }
}

void Tuner::next_way() {
  while (failed_ < kWays && seen_.size() < kMostPoints) {
    way_ = (way_ + 1) % kWays;
    if (point(way_, &trial_) && !seen(trial_)) return;
    failed_++;
  }
  trial_ = best_;
  settled_ = true;
  log_.push_back("settled: fuse_bytes " + std::to_string(best_.fuse) + ", chunk_bytes " +
                 std::to_string(best_.chunk));
}

}  // namespace plait::runtime::queue
