#include "perf/pair/statistics.h"

#include <algorithm>
#include <cmath>

namespace plait::perf::pair {
namespace {

int64_t nearest_rank(const std::vector<int64_t>& sorted, double fraction) {
  const auto rank = size_t(std::ceil(fraction * double(sorted.size())));
  return sorted[std::min(std::max<size_t>(rank, 1), sorted.size()) - 1];
}

// Sixteen times as many as are under way: the peak of an even stream is then a sixteenth too low, at most.
uint64_t stretch_of(uint64_t under_way) noexcept {
  constexpr uint64_t kMost = 1 << 17;
  return std::min(16 * under_way, std::max(2 * under_way, kMost));
}

double per_second(double amount, int64_t ns) noexcept {
  return amount * 1e9 / double(std::max<int64_t>(ns, 1));
}

}  // namespace

LatencyRow latency_of(std::vector<int64_t>& samples, double share) {
  std::sort(samples.begin(), samples.end());
  const double unit = share / 1e3;  // microseconds
  double sum = 0, squares = 0;
  for (const int64_t one : samples) sum += double(one);
  const double mean = sum / double(samples.size());
  for (const int64_t one : samples) squares += (double(one) - mean) * (double(one) - mean);
  LatencyRow row;
  row.min = double(samples.front()) * unit;
  row.max = double(samples.back()) * unit;
  row.typical = double(nearest_rank(samples, 0.5)) * unit;
  row.average = mean * unit;
  row.deviation = std::sqrt(squares / double(samples.size())) * unit;
  row.p99 = double(nearest_rank(samples, 0.99)) * unit;
  row.p999 = double(nearest_rank(samples, 0.999)) * unit;
  row.per_second = per_second(double(samples.size()), int64_t(sum));
  return row;
}

Pace::Pace(uint64_t under_way, int64_t begin_ns, bool peaks)
    : under_way_(under_way),
      times_(peaks ? stretch_of(under_way) + 1 : 0, begin_ns),
      begin_ns_(begin_ns),
      last_ns_(begin_ns) {}

void Pace::arrived(uint64_t count, int64_t now) noexcept {
  if (count == 0) return;
  last_ns_ = now;
  if (times_.empty()) {
    count_ += count;
    return;
  }
  for (uint64_t i = 0; i < count; i++) {
    times_[++count_ % times_.size()] = now;
    if (count_ + 1 >= times_.size())  // the next place has the oldest
      best_ns_ = std::min(best_ns_, now - times_[(count_ + 1) % times_.size()]);
  }
}

BandwidthRow Pace::row(uint64_t bytes) const noexcept {
  BandwidthRow row;
  row.messages_ps = count_ == 0 ? 0 : per_second(double(count_), last_ns_ - begin_ns_);
  row.average_Bps = row.messages_ps * double(bytes);
  if (times_.empty()) return row;
  const double sure = double(times_.size() - 1 - under_way_);
  const double best = best_ns_ == INT64_MAX ? 0 : per_second(sure, best_ns_);
  row.peak_Bps = std::max(best * double(bytes), row.average_Bps);
  return row;
}

}  // namespace plait::perf::pair
