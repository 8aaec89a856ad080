#include "perf/contest.h"

#include <algorithm>

namespace plait::perf {
namespace {

// A turn lasts about this long, or one call.
constexpr double kTurnUs = 5000;
constexpr int kMostSamples = 9;
// Who takes so many times as long as the best rests: after a first look, and when its time is known.
constexpr double kHopeless = 5, kFarBehind = 1.8;
constexpr size_t kFirstLook = 1, kKnown = 3;

std::vector<plait_candidate> candidates_of(Ranks& ranks, const Case& c, const Pointers& at) {
  plait_request* plan = nullptr;
  const std::string doing = describe(c);
  ranks.must(perf::plan(c, ranks.comm(), at, nullptr, &plan), doing);
  size_t count = 0;
  ranks.must(plait_candidates(plan, nullptr, 0, &count), doing);
  plait_candidate empty{};
  empty.struct_size = sizeof empty;
  std::vector<plait_candidate> list(count, empty);
  ranks.must(plait_candidates(plan, list.data(), list.size(), &count), doing);
  ranks.must(plait_request_free(plan), doing);
  return list;
}

}  // namespace

std::string describe(const Case& c) {
  std::string text = c.collective->name;
  if (!c.collective->moves_data()) return text;
  return text + " of " + std::to_string(c.count) + " " + c.dtype->name +
         (c.in_place ? " (in place)" : " (out of place)");
}

double Entrant::time_us() const { return *std::min_element(rounds_us.begin(), rounds_us.end()); }

Contest::Contest(Ranks& ranks, const Case& c, Pointers at) : ranks_(ranks), case_(c), at_(std::move(at)) {
  standings_.entrants.push_back({});
  for (const plait_candidate& one : candidates_of(ranks, c, at_)) {
    if (one.runs == 0) continue;
    Entrant entrant;
    entrant.algorithm = one.algorithm;
    entrant.chosen = one.chosen != 0;
    entrant.simulated = one.simulated != 0;
    entrant.predicted_us = one.predicted_us;
    entrant.tuned_us = one.tuned_us;
    standings_.entrants.push_back(entrant);
  }
}

void Contest::run(int rounds) {
  std::vector<Entrant>& all = standings_.entrants;
  for (int i = 0; i < rounds; ++i, ++rounds_) {
    for (size_t k = 0; k < all.size(); ++k) {
      Entrant& entrant = all[(k + rounds_) % all.size()];
      if (!entrant.resting) turn(entrant);
    }
    rest();
  }
}

void Contest::turn(Entrant& entrant) {
  plait_call_config config{};
  config.struct_size = sizeof config;
  if (!entrant.algorithm.empty()) config.algorithm = entrant.algorithm.c_str();
  auto call = [&] {
    const plait_status s = perf::call(case_, ranks_.comm(), at_, &config, nullptr);
    if (s != PLAIT_OK) ranks_.must(s, describe(case_) + " " + entrant.algorithm);
  };
  call();  // connects, and brings caches to where this one leaves them
  if (entrant.samples == 0) {
    const double us = ranks_.glance(2, call);
    entrant.batch = batch_of(us);
    entrant.samples = int(std::clamp(kTurnUs / (us * entrant.batch), 1.0, double(kMostSamples)));
  }
  std::vector<double> samples = ranks_.sample(entrant.samples, entrant.batch, call);
  entrant.rounds_us.push_back(percentile(samples, 0.5));
}

// All ranks have the same times, so the same ones rest. The choice never does, nor who it is.
void Contest::rest() {
  const size_t done = rounds_ + 1;
  if (done != kFirstLook && done < kKnown) return;
  const double limit = standings_.best().time_us() * (done < kKnown ? kHopeless : kFarBehind);
  for (Entrant& entrant : standings_.entrants) {
    const bool matters = entrant.algorithm.empty() || entrant.chosen;
    entrant.resting = !matters && entrant.time_us() > limit;
  }
}

const Entrant& Standings::chosen() const {
  for (const Entrant& entrant : entrants)
    if (entrant.chosen) return entrant;
  return entrants[0];
}

const Entrant& Standings::best() const {
  if (entrants.size() < 2) return entrants[0];
  return *std::min_element(entrants.begin() + 1, entrants.end(),
                           [](const Entrant& a, const Entrant& b) { return a.time_us() < b.time_us(); });
}

}  // namespace plait::perf
