// Finds the size of fused operations and of chunks that move most bytes a second: from where it stands it
// tries twice and half of each, and goes where it is better, until nothing is. Every rank gives it the same
// measurements, so all of them go the same way. A pure part: it is told what a trial came to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/queue/line.h"

namespace plait::runtime::queue {

struct TunerBounds {
  uint64_t fuse_min = 0, fuse_max = 0;
  uint64_t chunk_min = 0, chunk_max = 0;
};

class Tuner {
 public:
  static constexpr uint32_t kRepeats = 3;      // of a trial; the best counts, others were disturbed
  static constexpr double kBetter = 1.03;      // what is not, may be chance
  static constexpr uint32_t kMostPoints = 40;  // looked at in all

  Tuner(const TunerBounds& bounds, const Sizes& start);

  bool settled() const noexcept { return settled_; }
  // What to run with now.
  const Sizes& sizes() const noexcept { return trial_; }
  // What they came to, in bytes a second. True when sizes() has changed, or it has settled.
  bool measured(double rate);
  // A line for each point that was looked at.
  const std::vector<std::string>& log() const noexcept { return log_; }

 private:
  static constexpr uint32_t kWays = 4;  // fuse up and down, chunk up and down
  bool point(uint32_t way, Sizes* to) const noexcept;
  bool seen(const Sizes& sizes) const noexcept;
  void next_way();
  void judge();

  const TunerBounds bounds_;
  Sizes best_, trial_;
  std::vector<Sizes> seen_;  // points that were looked at
  double best_rate_ = 0, trial_rate_ = 0;
  uint32_t repeats_ = 0;
  uint32_t way_ = kWays;  // that is tried from best_; kWays: best_ itself
  uint32_t failed_ = 0;   // ways in a row
  bool settled_ = false;
  std::vector<std::string> log_;
};

}  // namespace plait::runtime::queue
