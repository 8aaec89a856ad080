#include "collectives/plan.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "collectives/chunkwise.h"
#include "collectives/entry.h"
#include "transport/mailbox.h"

namespace plait::collectives {

namespace {

Question question_of(const Shape& shape) {
  return {.collective = shape.collective,
          .bytes = shape.bytes,
          .in_place = shape.in_place,
          .commutes = shape.commutes,
          .deterministic = shape.deterministic,
          .lengths_known = shape.lengths_known};
}

// "ring, direct": those of a collective that `fits` takes.
template <class Fits>
std::string names(Collective collective, Fits fits) {
  std::string list;
  for (const Algorithm& a : algorithms()) {
    if (a.collective == collective && fits(a)) list += (list.empty() ? "" : ", ") + std::string(a.name);
  }
  return list.empty() ? "none" : list;
}

Status unknown(const Shape& shape) {
  return {Code::unsupported,
          fmt::format("no algorithm \"{}\" for {}; there are: {}", shape.algorithm, name_of(shape.collective),
                      names(shape.collective, [](const Algorithm&) { return true; }))};
}

}  // namespace

Planner::Planner(int32_t rank, int32_t size) : rank_(rank), size_(size) { seat({.ranks = size}); }

void Planner::seat(const Seating& seating) {
  chooser_ =
      std::make_unique<Chooser>(room_of(seating), [this](const Algorithm& algorithm, const Question& q) {
        if (!q.lengths_known && !moves_straight(algorithm)) return false;
        return runs(algorithm, q.in_place && !rooted(q.collective));
      });
}

Result<const Algorithm*> Planner::choose(const Shape& shape) {
  if (shape.algorithm.empty()) {
    if (const Algorithm* algorithm = chooser_->choose(question_of(shape))) return algorithm;
    return Status(Code::unsupported,
                  fmt::format("no algorithm of {} fits {} ranks{}", name_of(shape.collective), size_,
                              shape.deterministic ? " and is deterministic: a chain folds up to 64 of them"
                                                  : " and this operator"));
  }
  const Algorithm* algorithm = find_algorithm(shape.collective, shape.algorithm);
  if (algorithm == nullptr) return unknown(shape);
  auto refuse = [&](std::string_view why) {
    return Status(Code::unsupported, fmt::format("algorithm {} {}", shape.algorithm, why));
  };
  if (!algorithm->accepts(size_)) return refuse(fmt::format("has no program for {} ranks", size_));
  if (reduces(shape.collective) && size_ > 1) {
    if (!shape.commutes && !algorithm->rank_order)
      return refuse("does not fold in the order of ranks, which this operator needs; these do: " +
                    names(shape.collective, [](const Algorithm& a) { return a.rank_order; }));
    if (shape.deterministic && !algorithm->deterministic)
      return refuse("is not one of the deterministic ones: " +
                    names(shape.collective, [](const Algorithm& a) { return a.deterministic; }));
  }
  if (!shape.lengths_known && !moves_straight(*algorithm)) {
    return refuse(
        "passes on what others send, and here no rank knows how long that is: take another, or counts that "
        "are alike");
  }
  return algorithm;
}

std::vector<Candidate> Planner::candidates(const Shape& shape) const {
  return chooser_->candidates(question_of(shape));
}

std::string Planner::explain(const Shape& shape) {
  std::string text = fmt::format("{} of {} bytes{}: {}\n", name_of(shape.collective), shape.bytes,
                                 shape.in_place ? " in place" : "", describe(chooser_->room()));
  Shape free = shape;
  free.algorithm = {};
  const auto chosen = choose(free);
  for (const Candidate& c : candidates(shape)) {
    text += fmt::format("  {} {:<24}", chosen.ok() && *chosen == c.algorithm ? '*' : ' ', c.algorithm->name);
    text += c.measured ? fmt::format(" measured {:.3f} us,", *c.measured * 1e6) : "";
    text += std::isfinite(c.predicted)
                ? fmt::format(" {} {:.3f} us", c.simulated ? "simulated" : "estimated", c.predicted * 1e6)
                : " not predicted";
    if (!c.measured && !c.proven) text += ", never measured here";
    text += runs(*c.algorithm, shape.in_place && !rooted(shape.collective)) ? "\n" : ", does not run\n";
  }
  return text;
}

// Of ranks that differ where programs do; alike on all, as it must be.
bool Planner::runs(const Algorithm& algorithm, bool in_place) {
  runs_.resize(algorithms().size() * 2);
  std::optional<bool>& known = runs_[size_t(&algorithm - algorithms().data()) * 2 + in_place];
  if (known) return *known;
  known = true;
  for (int32_t rank : {0, size_ / 2, size_ - 1}) known = *known && lowers(algorithm, rank, in_place);
  return *known;
}

bool Planner::lowers(const Algorithm& algorithm, int32_t rank, bool in_place) const {
  const Program program = algorithm.build(size_, rank, 0, in_place);
  for (const Step& step : program.steps) {
    if (step.lane >= transport::kStreams) return false;
  }
  return real::lower(program, {}).ok() && real::lower(chunkwise(program), {}).ok();
}

// Asked of few ranks, which is enough to see whether anything is passed on. Kept, for it takes microseconds.
bool Planner::moves_straight(const Algorithm& algorithm) const {
  constexpr int kFew = 8;
  straight_.resize(algorithms().size());
  std::optional<bool>& known = straight_[size_t(&algorithm - algorithms().data())];
  if (known) return *known;
  const int n = size_ > kFew && algorithm.accepts(kFew) ? kFew : size_;
  known = true;
  for (int rank = 0; rank < n && *known; rank++) {
    const auto lowered = real::lower(chunkwise(algorithm.build(n, rank, 0, false)), {});
    known = lowered.ok() && std::all_of(lowered->actions.begin(), lowered->actions.end(),
                                        [](auto& action) { return action.sized_by.in() != Buffer::none; });
  }
  return *known;
}

Result<const real::Schedule*> Planner::schedule(const Algorithm& algorithm, int32_t root, bool in_place,
                                                bool joined, bool entering) {
  const uint64_t index = uint64_t(&algorithm - algorithms().data());
  const uint64_t key = index << 40 | uint64_t(uint32_t(root)) << 3 | uint64_t(entering) << 2 |
                       uint64_t(joined) << 1 | uint64_t(in_place);
  if (key == latest_key_) return latest_;
  auto it = schedules_.find(key);
  if (it == schedules_.end()) {
    auto schedule = make(algorithm, root, in_place, joined, entering);
    if (!schedule.ok()) return schedule.status();
    it = schedules_.emplace(key, std::make_unique<real::Schedule>(std::move(schedule).value())).first;
  }
  latest_key_ = key;
  latest_ = it->second.get();
  return latest_;
}

// Where one rank is apart from the others, these cannot know whether its buffers are in place: they take it
// for granted, which leaves no hazard out, where they store into its output; and need the credits of both.
Result<real::Schedule> Planner::make(const Algorithm& algorithm, int32_t root, bool in_place, bool joined,
                                     bool entering) const {
  const bool unknown = rooted(algorithm.collective);
  Status status;
  auto program_of = [&](int32_t rank) {
    Program program = algorithm.build(size_, rank, root, rank == rank_ ? in_place : in_place || unknown);
    if (entering) {
      auto scaled = entered(std::move(program));
      if (!scaled.ok()) status = scaled.status();
      program = scaled.ok() ? std::move(scaled).value() : Program();
    }
    return joined ? program : chunkwise(program);
  };
  Program mine = program_of(rank_);
  PLAIT_TRY(std::move(status));
  if (unknown && size_ > 1) mine.min_credits = std::max(algorithm.min_credits[0], algorithm.min_credits[1]);
  return real::lower(std::move(mine), size_ <= kGrantRanks ? real::ProgramOf(program_of) : real::ProgramOf());
}

}  // namespace plait::collectives
