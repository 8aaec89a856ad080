#include "perf/contest.h"

#include <algorithm>

namespace plait::perf {
namespace {

// A turn lasts about this long, or one call.
constexpr double kTurnUs = 5000;
constexpr int kMostSamples = 9;
// Who takes so many times as long as the best rests: when its time is known, and sooner where it costs much.
constexpr double kFarBehind = 2;
constexpr size_t kKnown = 3;

std::vector<plait_candidate> candidates_of(Ranks& ranks, plait_request* plan, const std::string& doing) {
  size_t count = 0;
  ranks.must(plait_candidates(plan, nullptr, 0, &count), doing);
  plait_candidate empty{};
  empty.struct_size = sizeof empty;
  std::vector<plait_candidate> list(count, empty);
  ranks.must(plait_candidates(plan, list.data(), list.size(), &count), doing);
  return list;
}

// What plait_explain says before it lists candidates, without the call itself.
std::string machine_of(Ranks& ranks, plait_request* plan, const std::string& doing) {
  size_t length = 0;
  ranks.must(plait_explain(plan, nullptr, 0, &length), doing);
  std::string text(length + 1, '\0');
  ranks.must(plait_explain(plan, text.data(), text.size(), &length), doing);
  text = text.substr(0, std::min(text.find("\n  "), length));
  const size_t colon = text.find(": ");
  return colon == text.npos ? text : text.substr(colon + 2);
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
  plans_.push_back(plan_of(nullptr));
  standings_.machine = machine_of(ranks, plans_[0].get(), describe(c));
  for (const plait_candidate& one : candidates_of(ranks, plans_[0].get(), describe(c))) {
    if (one.runs != 0) enter(one);
  }
}

void Contest::enter(const plait_candidate& candidate) {
  Entrant entrant;
  entrant.algorithm = candidate.algorithm;
  entrant.chosen = candidate.chosen != 0;
  entrant.simulated = candidate.simulated != 0;
  entrant.predicted_us = candidate.predicted_us;
  entrant.tuned_us = candidate.tuned_us;
  standings_.entrants.push_back(entrant);
  plans_.push_back(plan_of(candidate.algorithm));
}

Contest::Plan Contest::plan_of(const char* algorithm) {
  plait_call_config config{};
  config.struct_size = sizeof config;
  config.algorithm = algorithm;
  plait_request* plan = nullptr;
  ranks_.must(perf::plan(case_, ranks_.comm(), at_, &config, &plan), describe(case_));
  return Plan(plan);
}

void Contest::run(int rounds) {
  const size_t n = plans_.size();
  for (int i = 0; i < rounds; ++i, ++rounds_) {
    for (size_t k = rounds_; k < rounds_ + n; ++k) {
      Entrant& entrant = standings_.entrants[k % n];
      if (!entrant.resting) turn(entrant, plans_[k % n].get());
    }
    rest();
  }
}

void Contest::turn(Entrant& entrant, plait_request* plan) {
  auto call = [&] {
    plait_status s = plait_start(plan);
    if (s == PLAIT_OK) s = plait_wait(plan);
    if (s != PLAIT_OK) ranks_.must(s, describe(case_) + " " + entrant.algorithm);
  };
  call();  // connects, and brings caches to where this one leaves them
  const double us = entrant.rounds_us.empty() ? ranks_.glance(2, call) : entrant.time_us();
  const int batch = batch_of(us);
  const auto samples = int(std::clamp(kTurnUs / (us * batch), 1.0, double(kMostSamples)));
  std::vector<double> times = ranks_.sample(samples, batch, call);
  entrant.rounds_us.push_back(percentile(times, 0.5));
}

// All ranks have the same times, so the same ones rest. The choice never does, nor who it is.
void Contest::rest() {
  const double best = standings_.best().time_us();
  const size_t done = rounds_ + 1;
  for (Entrant& entrant : standings_.entrants) {
    const bool matters = entrant.algorithm.empty() || entrant.chosen;
    const double limit =
        done < kKnown ? std::max(best * kFarBehind, kTurnUs) * kFarBehind : best * kFarBehind;
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
