#include "perf/ranks.h"

#include <cmath>
#include <iterator>
#include <numeric>

namespace plait::perf {
namespace {

// A timed batch lasts about this long.
constexpr double kBatchUs = 50;
constexpr int kMostBatch = 1000;

}  // namespace

double percentile(std::vector<double>& samples, double fraction) {
  std::sort(samples.begin(), samples.end());
  auto index = size_t(std::ceil(fraction * double(samples.size())));
  return samples[std::clamp<size_t>(index, 1, samples.size()) - 1];
}

Spread spread_of(std::vector<double> calls_us) {
  const double n = double(calls_us.size());
  const double mean = std::accumulate(calls_us.begin(), calls_us.end(), 0.0) / n;
  double squares = 0;
  for (double us : calls_us) squares += (us - mean) * (us - mean);
  const double p99 = percentile(calls_us, 0.99);  // sorts
  return {calls_us.front(), calls_us.back(), p99, mean > 0 ? std::sqrt(squares / n) / mean : 0};
}

double time_of(Whose whose, std::span<const double> ranks) {
  switch (whose) {
    case Whose::first:
      return ranks.front();
    case Whose::mean:
      return std::accumulate(ranks.begin(), ranks.end(), 0.0) / double(ranks.size());
    case Whose::fastest:
      return *std::min_element(ranks.begin(), ranks.end());
    case Whose::slowest:
      break;
  }
  return *std::max_element(ranks.begin(), ranks.end());
}

int batch_of(double call_us) { return std::clamp(int(kBatchUs / std::max(call_us, 0.01)), 1, kMostBatch); }

Ranks::Ranks(plait_comm* comm) : comm_(comm), transport_("none") {
  plait_comm_rank(comm, &rank_);
  plait_comm_size(comm, &size_);
  plait_level levels[4]{};
  for (plait_level& l : levels) l.struct_size = sizeof l;
  size_t count = 0;
  if (plait_comm_levels(comm, levels, std::size(levels), &count) != PLAIT_OK || count == 0) return;
  for (size_t i = 0; i < std::min(count, std::size(levels)); ++i) {
    if (std::string_view(levels[i].name) == "host") hosts_ = levels[i].group_count;
  }
  transport_.clear();
  for (size_t i = 0; i < std::min(count, std::size(levels)); ++i) {
    if (levels[i].group_size == 1 && count > 1) continue;
    transport_ += (transport_.empty() ? "" : "+") + std::string(levels[i].transport);
  }
}

void Ranks::must(plait_status status, const std::string& doing) const {
  if (status == PLAIT_OK) return;
  std::string text = plait_last_error(comm_);
  if (text.empty()) text = plait_last_error(nullptr);
  if (text.empty()) text = plait_status_string(status);
  throw Failure(doing + ": " + text);
}

std::vector<double> Ranks::of(Whose whose, const std::vector<double>& own) {
  const std::vector<double> all = gather(std::span<const double>(own));
  std::vector<double> one(static_cast<size_t>(size_)), times;
  for (size_t i = 0; i < own.size(); ++i) {
    for (size_t rank = 0; rank < one.size(); ++rank) one[rank] = all[rank * own.size() + i];
    times.push_back(time_of(whose, one));
  }
  return times;
}

}  // namespace plait::perf
