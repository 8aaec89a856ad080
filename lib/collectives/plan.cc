#include "collectives/plan.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "collectives/choice/levels.h"
#include "collectives/chunkwise.h"
#include "collectives/coded.h"
#include "collectives/entry.h"
#include "collectives/machine/cost.h"
#include "collectives/machine/symbolic.h"
#include "transport/mailbox.h"

namespace plait::collectives {

namespace {

// Bytes are those that messages have.
uint64_t wire_bytes(const Shape& shape) {
  return shape.encoding.which == Encoded::none ? shape.bytes
                                               : uint64_t(double(shape.bytes) * shape.encoding.ratio);
}

Question question_of(const Shape& shape) {
  return {.collective = shape.collective,
          .bytes = wire_bytes(shape),
          .root = shape.root,
          .in_place = shape.in_place,
          .uneven = shape.uneven || !shape.lengths_known,
          .commutes = shape.commutes,
          .deterministic = shape.deterministic,
          .lengths_known = shape.lengths_known};
}

bool any(const Method&) { return true; }
bool keeps_order(const Method& m) { return m.rank_order; }
bool is_deterministic(const Method& m) { return m.deterministic; }

// Whether all ranks of the call are known to be in place.
bool all_in_place(const Shape& s) { return s.in_place && !s.uneven && !rooted(s.collective); }

}  // namespace

bool encodes(Collective collective) noexcept {
  switch (collective) {
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::allgather:
    case Collective::broadcast:
      return true;
    default:
      return false;
  }
}

Planner::Planner(int32_t rank, int32_t size) : rank_(rank), size_(size), methods_(size) {
  seat({.ranks = size});
}

void Planner::seat(const Seating& seating) {
  add_levels(methods_, seating);
  note_ = levels_note(seating);
  host_of_ = seating.host_of;
  chooser_ = std::make_unique<Chooser>(
      room_of(seating), methods_,
      [this](const Method& method, const Question& question) { return runs(method, question); });
}

Result<const Method*> Planner::choose(const Shape& shape) {
  if (!shape.algorithm.empty()) return by_name(shape);
  const Method* best = chooser_->choose(question_of(shape));
  if (best != nullptr && !is_fit(*best, shape)) {
    best = nullptr;
    for (const Weighed& c : candidates(shape))
      if (best == nullptr && c.runs && is_fit(*c.method, shape)) best = c.method;
  }
  if (best != nullptr) return best;
  return Status(Code::unsupported,
                fmt::format("no algorithm of {} fits {} ranks{}", name_of(shape.collective), size_,
                            shape.deterministic ? " and is deterministic: a chain folds up to 64 of them"
                                                : " and this operator"));
}

Result<const Method*> Planner::by_name(const Shape& shape) {
  const Method* method = methods_.find(shape.collective, shape.algorithm);
  auto refuse = [&](std::string_view why) {
    return Status(Code::unsupported, fmt::format("algorithm {} {}", shape.algorithm, why));
  };
  if (method == nullptr) {
    return Status(Code::unsupported, fmt::format("no algorithm \"{}\" for {}; there are: {}", shape.algorithm,
                                                 name_of(shape.collective), names(shape.collective, any)));
  }
  if (!method->fits(shape.root, shape.in_place, shape.uneven))
    return refuse(method->misfit(shape.root, shape.in_place, shape.uneven));
  if (reduces(shape.collective) && size_ > 1) {
    if (!shape.commutes && !method->rank_order)
      return refuse("does not fold in the order of ranks, which this operator needs; these do: " +
                    names(shape.collective, keeps_order));
    if (shape.deterministic && !method->deterministic)
      return refuse("is not one of the deterministic ones: " + names(shape.collective, is_deterministic));
  }
  if (!is_fit(*method, shape))
    return refuse("would leave ranks with different bits by a codec that loses something");
  if (const Status bounded = this->bounded(*method); !bounded.ok()) return refuse(bounded.text());
  if (!shape.lengths_known && !moves_straight(*method)) {
    return refuse(
        "passes on what others send, and here no rank knows how long that is: take another, or counts that "
        "are alike");
  }
  // What the machine makes of a row it makes of it on all ranks alike.
  if (method->row == nullptr) {
    const Status& runs = this->runs(*method, all_in_place(shape));
    if (!runs.ok()) return refuse("does not run: " + std::string(runs.text()));
  }
  return method;
}

// Do all ranks hold the same bits of what they share? Of a row the table says so. Where levels are composed,
// or some messages alone are encoded, it depends on how ranks lie: of few that is proved, of many those are
// taken of which it is known.
bool Planner::is_fit(const Method& method, const Shape& shape) {
  const Encoding& e = shape.encoding;
  if (e.which == Encoded::none || e.exact) return true;
  if (!method.one_wire) return false;
  const bool all = e.which == Encoded::all || host_of_.empty();
  if (all && method.row != nullptr) return true;
  if (size_ > kProvedRanks) return !all && method.row == nullptr;
  const uint64_t key = uint64_t(method.number) << 33 | uint64_t(all) << 32 | uint32_t(shape.root);
  const auto known = fit_.find(key);
  if (known != fit_.end()) return known->second;
  return fit_.emplace(key, is_proved(method, shape.root, e)).first->second;
}

bool Planner::is_proved(const Method& method, int32_t root, const Encoding& encoding) const {
  std::vector<Program> programs;
  for (int32_t rank = 0; rank < size_; rank++) {
    const Program program = chunkwise(method.build(rank, root, method.has[1]));
    auto wired = encoded(method, root, program, encoding);
    if (!wired.ok()) return false;
    programs.push_back(std::move(*wired));
  }
  return prove({method.collective, root}, programs).status.ok();
}

bool Planner::pays(const Shape& shape) {
  Shape plain = shape;
  plain.encoding = {};
  plain.algorithm = {};
  return !(predicted(shape) >= predicted(plain));
}

// What codecs do comes on top of it.
double Planner::predicted(const Shape& shape) {
  auto method = choose(shape);
  if (!method.ok()) return std::numeric_limits<double>::infinity();
  const double codec = codec_seconds(**method, shape);
  for (const Candidate& c : chooser_->candidates(question_of(shape)))
    if (c.method == *method) return c.measured.value_or(c.predicted) + codec;
  return std::numeric_limits<double>::infinity();
}

// Of rank 0, which stands for all, so that all think alike.
double Planner::codec_seconds(const Method& method, const Shape& shape) const {
  constexpr int32_t kMostRanks = 2048;
  const Encoding& e = shape.encoding;
  if (e.which == Encoded::none) return 0;
  constexpr double kStep =
      0.4e-6;  // whatever it is of, and what a message is dearer that has a length of its own
  double encodes = 1, decodes = 2, steps = 3;  // passes over the vector, in so many steps
  if (size_ <= kMostRanks) {
    const int32_t root = std::max(method.root, 0);
    auto program = encoded(method, root, chunkwise(method.build(0, root, method.has[1])), e);
    if (!program.ok()) return std::numeric_limits<double>::infinity();
    auto count = [&](auto&& of) { return double(std::ranges::count_if(program->steps, of)); };
    encodes = count([](const Step& s) { return s.op == Op::encode; });
    decodes = count([](const Step& s) { return s.op == Op::decode || s.op == Op::decode_reduce; });
    steps = encodes + decodes;
    encodes /= method.chunks;
    decodes /= method.chunks;
  }
  return steps * kStep + double(shape.bytes) * (encodes * e.encode_ns + decodes * e.decode_ns) * 1e-9;
}

// "ring, direct": those of a collective.
std::string Planner::names(Collective collective, bool (*of)(const Method&)) const {
  std::string list;
  for (const Method* m : methods_.of(collective)) {
    if (of(*m)) list += (list.empty() ? "" : ", ") + std::string(m->name);
  }
  return list.empty() ? "none" : list;
}

std::vector<Weighed> Planner::candidates(const Shape& shape) {
  const Question question = question_of(shape);
  const Method* chosen = chooser_->choose(question);
  std::vector<Weighed> list;
  for (const Candidate& c : chooser_->candidates(question))
    list.push_back({c, runs(*c.method, question), c.method == chosen});
  return list;
}

std::string Planner::explain(const Shape& shape) {
  std::string text = fmt::format("{} of {}{}: {}\n", name_of(shape.collective),
                                 shape.lengths_known ? fmt::format("{} bytes", shape.bytes)
                                                     : std::string("blocks that not all ranks know"),
                                 shape.in_place ? " in place" : "", describe(chooser_->room())) +
                     note_;
  for (const Weighed& c : candidates(shape)) {
    text += fmt::format("  {} {:<24}", c.chosen ? '*' : ' ', c.method->name);
    text += c.measured ? fmt::format(" measured {:.3f} us,", *c.measured * 1e6) : "";
    text += std::isfinite(c.predicted)
                ? fmt::format(" {} {:.3f} us", c.simulated ? "simulated" : "estimated", c.predicted * 1e6)
                : " not predicted";
    if (!c.measured && !c.proven) text += ", never measured here";
    text += c.runs ? "\n" : ", does not run\n";
  }
  return text;
}

// The absurd is refused when it is to run, not when it is built (rule 13). Messages of a rank in the middle
// stand for those of all: rank 0 is the root, which may send more than all others.
Status Planner::bounded(const Method& method) const {
  constexpr double kFew = 2048;  // ranks, of which no program has so many steps
  if (size_ <= kFew) return {};
  const Program program = method.build(size_ / 2, std::max(method.root, 0), method.has[1]);
  const auto sent = std::ranges::count_if(program.steps, [](const Step& s) { return sends(s.op); });
  const double messages = double(sent) * size_;
  if (messages <= double(kMostMessages)) return {};
  return {Code::unsupported,
          fmt::format(
              "would send {:.2g} messages among {} ranks; calls of more than {:.0e} are not run: take one "
              "of fewer rounds, or level by level",
              messages, size_, double(kMostMessages))};
}

bool Planner::runs(const Method& method, const Question& q) {
  if (!q.lengths_known && !moves_straight(method)) return false;
  return runs(method, q.in_place && !q.uneven && !rooted(q.collective)).ok();
}

// Alike on all ranks, as it must be: those of a row differ no more than these three, others as they like.
const Status& Planner::runs(const Method& method, bool in_place) {
  runs_.resize(size_t(methods_.size()) * 2);
  std::optional<Status>& known = runs_[size_t(method.number) * 2 + in_place];
  if (known) return *known;
  known = bounded(method);
  if (method.row != nullptr) {
    for (int32_t rank : {0, size_ / 2, size_ - 1})
      *known = known->ok() ? lowers(method, rank, in_place) : *known;
  } else {
    for (int32_t rank = 0; rank < size_ && known->ok(); rank++) *known = lowers(method, rank, in_place);
  }
  return *known;
}

Status Planner::lowers(const Method& method, int32_t rank, bool in_place) const {
  const Program program = method.build(rank, std::max(method.root, 0), in_place);
  auto refuse = [&](std::string_view why) {
    return Status(Code::unsupported, fmt::format("rank {}: {}", rank, why));
  };
  for (const Step& step : program.steps) {
    if (step.lane >= transport::kStreams)
      return refuse(fmt::format("lane {}, and there are {} streams", step.lane, transport::kStreams));
  }
  std::vector<Program> forms = {program, chunkwise(program)};
  if (method.row == nullptr && reduces(method.collective)) {
    auto scaled = entered(program);
    if (!scaled.ok()) return refuse(scaled.status().text());
    forms.push_back(chunkwise(*scaled));
    forms.push_back(std::move(*scaled));
  }
  for (Program& form : forms) {
    auto schedule = real::lower(std::move(form), {});
    if (!schedule.ok()) return refuse(schedule.status().text());
  }
  return {};
}

// Asked of few ranks of a row, which is enough to see whether anything is passed on. Kept, for it takes
// microseconds.
bool Planner::moves_straight(const Method& method) const {
  constexpr int kFew = 8;
  if (method.row == nullptr) return false;
  straight_.resize(methods_.size());
  std::optional<bool>& known = straight_[method.number];
  if (known) return *known;
  const int n = size_ > kFew && method.row->accepts(kFew) ? kFew : size_;
  known = true;
  for (int rank = 0; rank < n && *known; rank++) {
    const auto lowered = real::lower(chunkwise(method.row->build(n, rank, 0, false)), {});
    known = lowered.ok() && std::all_of(lowered->actions.begin(), lowered->actions.end(),
                                        [](auto& action) { return action.sized_by.in() != Buffer::none; });
  }
  return *known;
}

Result<const real::Schedule*> Planner::schedule(const Method& method, int32_t root, bool in_place,
                                                bool joined, bool entering, const Encoding& encoding) {
  const uint64_t form = uint64_t(encoding.which) << 1 | uint64_t(encoding.exact);
  const uint64_t key = uint64_t(method.number) << 40 | uint64_t(uint32_t(root)) << 6 | form << 3 |
                       uint64_t(entering) << 2 | uint64_t(joined) << 1 | uint64_t(in_place);
  if (key == latest_key_) return latest_;
  auto it = schedules_.find(key);
  if (it == schedules_.end()) {
    auto schedule = make(method, root, in_place, joined, entering, encoding);
    if (!schedule.ok()) return schedule.status();
    it = schedules_.emplace(key, std::make_unique<real::Schedule>(std::move(schedule).value())).first;
  }
  latest_key_ = key;
  latest_ = it->second.get();
  return latest_;
}

// Where one rank is apart from the others, these cannot know whether its buffers are in place: they take it
// for granted, which leaves no hazard out, where they store into its output; and need the credits of both.
Result<real::Schedule> Planner::make(const Method& method, int32_t root, bool in_place, bool joined,
                                     bool entering, const Encoding& encoding) const {
  const bool unknown = rooted(method.collective);
  Status status;
  auto program_of = [&](int32_t rank) {
    Program program = method.build(rank, root, rank == rank_ ? in_place : in_place || unknown);
    if (entering) {
      auto scaled = entered(std::move(program));
      if (!scaled.ok()) status = scaled.status();
      program = scaled.ok() ? std::move(scaled).value() : Program();
    }
    if (!joined) program = chunkwise(program);
    if (encoding.which == Encoded::none) return program;
    auto wired = encoded(method, root, program, encoding);
    if (!wired.ok()) status = wired.status();
    return wired.ok() ? std::move(wired).value() : Program();
  };
  Program mine = program_of(rank_);
  PLAIT_TRY(std::move(status));
  if (unknown && size_ > 1) mine.min_credits = std::max(method.min_credits[0], method.min_credits[1]);
  const bool look = size_ <= kGrantRanks && method.foretold;
  return real::lower(std::move(mine), look ? real::ProgramOf(program_of) : real::ProgramOf());
}

Result<Program> Planner::encoded(const Method& method, int32_t root, const Program& program,
                                 const Encoding& encoding) const {
  Coded how{.outputs = output_of(method.collective, size_, program.rank, root, program.chunks),
            .exact = encoding.exact};
  if (encoding.which == Encoded::between_hosts) {
    how.peers.resize(size_t(size_));
    for (size_t r = 0; r < host_of_.size(); r++) how.peers[r] = host_of_[r] != host_of_[size_t(program.rank)];
  }
  auto wired = coded(program, how);
  if (wired.ok()) wired->min_credits = program.min_credits;
  return wired;
}

}  // namespace plait::collectives
