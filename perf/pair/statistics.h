// Figures of many messages.
#pragma once

#include <cstdint>
#include <vector>

#include "perf/pair/row.h"

namespace plait::perf::pair {

// Of latencies in nanoseconds, which are sorted by it and must not be empty. `share`: of each that counts,
// 0.5 for half of there and back. Typical is the median; percentiles are of the nearest rank.
LatencyRow latency_of(std::vector<int64_t>& samples, double share);

// Times of messages that arrive: what the average and the peak are. The peak is the best rate in which many
// in a row were begun and arrived: those that may have been on their way when a stretch began do not count
// for it, as their news often comes in bursts.
class Pace {
 public:
  // `under_way`: messages, at most. `peaks`: whether the peak is wanted; else it is 0.
  Pace(uint64_t under_way, int64_t begin_ns, bool peaks = true);
  // `count` more have arrived.
  void arrived(uint64_t count, int64_t now_ns) noexcept;
  // The time until now counts, though nothing more arrives.
  void end(int64_t now_ns) noexcept { last_ns_ = now_ns; }
  uint64_t count() const noexcept { return count_; }
  // Of messages of `bytes` bytes since begin_ns.
  BandwidthRow row(uint64_t bytes) const noexcept;

 private:
  uint64_t under_way_;
  std::vector<int64_t> times_;  // of the latest stretch and one before, by number; of number 0: the begin.
                                // Empty: no peak
  uint64_t count_ = 0;
  int64_t begin_ns_, last_ns_;
  int64_t best_ns_ = INT64_MAX;  // of a stretch
};

}  // namespace plait::perf::pair
