// What was measured of one size.
#pragma once

#include <cstdint>
#include <vector>

namespace plait::perf::pair {

// Of one way, or of both together.
struct BandwidthRow {
  double peak_Bps = 0, average_Bps = 0;  // bytes a second
  double messages_ps = 0;                // messages a second
};

// Microseconds, one way but for reads.
struct LatencyRow {
  double min = 0, max = 0, typical = 0, average = 0, deviation = 0, p99 = 0, p999 = 0;
  double per_second = 0;  // turns, there and back, in a second
};

struct Row {
  uint64_t bytes = 0, iterations = 0;
  uint64_t wrong = 0;  // bytes that were not what they should be
  BandwidthRow bandwidth;
  LatencyRow latency;
};

// Both directions of a bidirectional measurement. No peak where a side that sent had none (-N).
inline BandwidthRow together(const BandwidthRow& a, const BandwidthRow& b) noexcept {
  const bool peaks = a.messages_ps == 0 || b.messages_ps == 0 || (a.peak_Bps != 0 && b.peak_Bps != 0);
  return {peaks ? a.peak_Bps + b.peak_Bps : 0, a.average_Bps + b.average_Bps, a.messages_ps + b.messages_ps};
}

}  // namespace plait::perf::pair
