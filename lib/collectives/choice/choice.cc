#include "collectives/choice/choice.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "collectives/machine/cost.h"
#include "collectives/machine/real/commons.h"

namespace plait::collectives {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();
constexpr size_t kSizeClasses = 66, kFlags = 16;
constexpr int kLargest = 46;  // as a power of two: above, more bytes change nothing

// Messages simulated for one choice: some 0.3 us each, and as much to build their programs.
constexpr uint64_t kBudget = 1200;
// The same among few ranks of several hosts: calls take longer there, and there is more to choose from.
constexpr uint64_t kFarBudget = 10 * kBudget;
constexpr int32_t kFewRanks = 32;
// The same where some method was added that nothing but simulation tells about.
constexpr uint64_t kOpenBudget = 20 * kBudget;
// A formula may be wrong by this much against another one.
constexpr double kDoubt = 2.5;
// Predictions closer than this are alike; then what folds in the order of ranks, and what stands first, is
// taken.
constexpr double kAlike = 1.02;
// The real machine's, below which it does not cut a chunk.
constexpr uint64_t kSegmentBytes = 256 * 1024;
// The real machine's, where ranks share cores; up to which messages are copied in calls with a root.
constexpr uint64_t kRootedEagerBytes = 16 * 1024;
// Up to here a star was the best one, where ranks share cores; of a rank, out of place and in place; and at
// all.
constexpr uint64_t kStarBytesARank[] = {8 * 1024, 4 * 1024}, kStarBytes = 64 * 1024;

bool asks_in_place(const Question& q) { return q.in_place && !q.uneven && !rooted(q.collective); }

uint64_t bytes_of_class(int k) { return k == 0 ? 0 : uint64_t{1} << std::min(k - 1, kLargest); }

double time_of(const Candidate& c) { return c.measured ? *c.measured : c.predicted; }

// Where one rank is apart, the others do not know whether its buffers are in place.
bool buffered(const Method& m, const Question& q) {
  if (rooted(q.collective)) return m.min_credits[0] > 0 || m.min_credits[1] > 0;
  return m.min_credits[q.in_place] > 0;
}

// Whether nothing but simulation tells what it costs. A row without a formula waits until it is measured.
bool open(const Method& m) { return m.row == nullptr && !m.outline && m.levels.empty(); }

// That the rank which has most to do sends or receives; nothing where no formula says it.
std::optional<double> messages_of(const Method& m) {
  if (m.outline) return m.outline->messages;
  if (m.levels.empty()) return {};
  double sum = 0;
  for (const LevelOutline& level : m.levels) sum += level.outline.messages;
  return sum;
}

// Takes `messages` from the budget; false when it does not hold them.
bool spend(uint64_t& budget, double messages) {
  if (messages > double(budget)) return false;
  budget -= uint64_t(messages);
  return true;
}

size_t sends_of(const Program& p) {
  return size_t(std::count_if(p.steps.begin(), p.steps.end(), [](const Step& s) { return sends(s.op); }));
}

// How much a time is worth: those of another kind do not compare. But for those of a crowd, which are all
// estimated alike, and what was added to them simulated.
int trust(const Candidate& c, bool crowded) {
  return c.measured ? 4 : (c.proven ? 2 : 0) + (c.simulated && !crowded ? 1 : 0);
}

// Among few ranks of a host these were measured against each other (docs/performance.md), and are the best by
// far of what others do; what has not been measured beside them waits for a tuning file. A star spares a
// crowd turns, as long as the bytes that all go through its root's core are few.
bool proven(const Method& m, bool plain_host, bool crowded, const Question& q) {
  if (m.collective != Collective::allreduce || !plain_host || m.ranks > 8) return true;
  if (m.name == "star")
    return crowded && q.bytes <= std::min(kStarBytes, kStarBytesARank[q.in_place] * uint64_t(m.ranks));
  return m.name == "all_to_all" || m.name == "direct" || m.name == "ring";
}

// The best one first: the least time, but for those that are alike.
void put_best_first(std::vector<Candidate>& list, bool crowded) {
  auto worth = [&](const Candidate& c) { return trust(c, crowded); };
  std::stable_sort(list.begin(), list.end(), [&](const Candidate& a, const Candidate& b) {
    return worth(a) != worth(b) ? worth(a) > worth(b) : time_of(a) < time_of(b);
  });
  if (list.empty()) return;
  auto alike = [&](const Candidate& c) {
    return worth(c) == worth(list[0]) && time_of(c) <= time_of(list[0]) * kAlike;
  };
  auto better = [](const Candidate& a, const Candidate& b) {
    if (a.method->rank_order != b.method->rank_order) return a.method->rank_order;
    return a.method->number < b.method->number;
  };
  auto end = std::find_if_not(list.begin(), list.end(), alike);
  auto best = std::min_element(list.begin(), end, better);
  std::rotate(list.begin(), best, best + 1);
}

}  // namespace

int size_class(uint64_t bytes) noexcept { return bytes == 0 ? 0 : 1 + int(std::bit_width(bytes - 1)); }

Chooser::Chooser(Room room, const Methods& methods, Runs runs)
    : room_(std::move(room)), methods_(methods), runs_(std::move(runs)) {
  std::vector<int32_t> seated;
  for (int32_t r = 0; r < room_.ranks; r++) {
    const auto host = size_t(room_.host(r));
    if (seated.size() <= host) seated.resize(host + 1);
    most_on_host_ = std::max(most_on_host_, ++seated[host]);
  }
  hosts_ = int32_t(seated.size());
  auto alone = [&](int32_t pod) { return pod == room_.pod_of.front(); };
  const bool one_pod = !room_.pod_of.empty() && std::ranges::all_of(room_.pod_of, alone);
  slowest_ = one_pod ? LinkClass::chips : hosts_ > 1 ? LinkClass::between : LinkClass::inside;
}

void Chooser::use(std::shared_ptr<const Tuning> tuning) {
  tuning_ = std::move(tuning);
  chosen_.clear();
}

// The root matters only where some method is for that one alone.
uint64_t Chooser::class_of(const Question& q) const {
  const uint64_t lie = !q.lengths_known ? 3 : q.uneven ? 2 : asks_in_place(q);
  const uint64_t flags = lie << 2 | uint64_t(q.commutes) << 1 | uint64_t(q.deterministic);
  const uint64_t root = rooted(q.collective) && methods_.has_own(q.root) ? uint64_t(q.root) + 1 : 0;
  return ((root * kCollectives + uint64_t(q.collective)) * kFlags + flags) * kSizeClasses +
         uint64_t(size_class(q.bytes));
}

const Method* Chooser::choose(const Question& question) {
  const uint64_t key = class_of(question);
  if (auto known = chosen_.find(key); known != chosen_.end()) return known->second;
  for (const Candidate& c : candidates(question)) {
    if (runs_ && !runs_(*c.method, question)) continue;
    chosen_.emplace(key, c.method);
    return c.method;
  }
  return nullptr;
}

std::vector<Candidate> Chooser::candidates(const Question& question) const {
  Question q = question;
  q.bytes = bytes_of_class(size_class(q.bytes));
  std::vector<Candidate> list = fitting(q);
  if (std::none_of(list.begin(), list.end(), [](auto& c) { return c.measured.has_value(); }))
    simulate_best(list, q);
  put_best_first(list, crowded());
  return list;
}

std::vector<Candidate> Chooser::fitting(const Question& q) const {
  std::vector<Candidate> list;
  for (const Method* m : methods_.of(q.collective)) {
    if (!m->fits(q.root, q.in_place, q.uneven)) continue;
    if (reduces(q.collective) && room_.ranks > 1) {
      if (!q.commutes && !m->rank_order) continue;
      if (q.deterministic && !m->deterministic) continue;
    }
    Candidate c;
    c.method = m;
    c.predicted = estimate(*m, q);
    c.proven = proven(*m, plain_host(), crowded(), q);
    if (tuning_ != nullptr) {
      const TuningCase known{q.collective, room_.ranks, hosts_, asks_in_place(q)};
      c.measured = tuning_->seconds(known, m->name, q.bytes);
    }
    list.push_back(c);
  }
  return list;
}

double Chooser::estimate(const Method& method, const Question& q) const {
  const double bytes = double(q.bytes);
  if (method.outline) {
    const bool common = room_.commons && method.deterministic && method.all_meet && !q.uneven && q.commutes;
    if (crowded())
      return common && q.bytes * uint64_t(room_.ranks) <= real::kCommonCrowdedBytes
                 ? estimate_on_commons(method, q)
                 : estimate_in_crowd(method, q);
    const bool far = slowest_ == LinkClass::between;
    const int together = far && !method.outline->neighbours ? most_on_host_ : 1;
    return estimate({*method.outline, slowest_, 1, together}, bytes, buffered(method, q));
  }
  if (method.levels.empty()) return kUnknown;
  double sum = 0;
  for (const LevelOutline& level : method.levels) sum += estimate(level, bytes, buffered(method, q));
  return sum;
}

// All terms as if nothing overlapped but the pieces of one message.
double Chooser::estimate(const LevelOutline& level, double all, bool buffered) const {
  const Outline& o = level.outline;
  if (o.messages == 0) return 0;
  const double bytes = all * level.share, moved = bytes * o.moved;
  const Link& link = room_.links(level.links);
  const Delivery& d = link.delivery(uint64_t(moved / o.messages), buffered);
  const double wire = o.messages * d.gap + moved * std::max(d.byte, link.host_byte * level.together);
  const double core = o.messages * (d.send + d.recv) + moved * (d.send_byte + d.recv_byte) +
                      bytes * (o.folded * room_.fold + o.copied * (d.placed ? room_.store : room_.copy));
  const double crowd = room_.cores == 0 ? 1 : std::max(1.0, double(most_on_host_) / double(room_.cores));
  const double switches = crowd > 1 ? (o.rounds + 1) * crowd * room_.task_switch : 0;
  const double passing = d.piece == UINT64_MAX ? crowd * core + wire : std::max(crowd * core, wire);
  return o.rounds * d.latency * (d.acknowledged ? 2 : 1) + passing + switches;
}

// Where ranks share cores they take turns, and a core goes from one to the next whether that has something to
// do or not: a rank that waits for a message waits until all of its core had their turn. The first turn
// sends, each round takes one more, and two go by until a sender has heard that its message was taken, if it
// stays where it is until then; but not where it hears of a result anyway. What ranks do adds up, core by
// core, and the busiest one has no more than a core; but who folds as messages come does it while the others
// have their turns. (Where nobody waits for answers, all have come when it is its turn.)
double Chooser::estimate_in_crowd(const Method& method, const Question& q) const {
  const Outline& o = *method.outline;
  if (o.messages == 0) return 0;
  const double bytes = double(q.bytes), moved = bytes * o.moved;
  const double ranks = double(room_.ranks) / double(room_.cores);  // of a core
  const auto message = uint64_t(moved / o.messages);
  const bool copied = buffered(method, q) || (rooted(q.collective) && message <= kRootedEagerBytes);
  const Delivery& d = room_.inside.delivery(message, copied);
  double turns = o.rounds + 1;
  if (d.acknowledged && !o.answered) turns += 2;
  if (d.acknowledged && q.in_place) turns += o.tight;
  const uint32_t segments = even_sizes(q.bytes, method.chunks, kSegmentBytes).segments;
  const double windows = double((segments + room_.windows - 1) / room_.windows);
  const double core = o.messages * (d.send + d.recv + room_.cold) + moved * (d.send_byte + d.recv_byte) +
                      bytes * (o.folded * room_.fold + o.copied * (d.placed ? room_.store : room_.copy));
  const double waiting = windows * turns * ranks * room_.task_switch;
  const double work = std::max(1.0, ranks * o.share) * core;
  const double hidden = o.answered ? work * o.hidden / o.messages : 0;
  return std::max(waiting, hidden) + work - hidden;
}

// One turn of all until the last one has come, and one more where the sum is then shared out. What the method
// takes without the commons counts a little: it is done so where somebody's memory is plain.
double Chooser::estimate_on_commons(const Method& method, const Question& q) const {
  constexpr double kTurn = 1.3, kOtherwise = .05;
  const double ranks = double(room_.ranks) / double(room_.cores);  // of a core
  const double turns = q.bytes <= real::kCommonBytes ? 1 : 2;
  const double work = double(q.bytes) * ranks * (room_.fold + room_.store);
  return turns * ranks * kTurn * room_.task_switch + work + kOtherwise * estimate_in_crowd(method, q);
}

// Long vectors repeat themselves: of many segments a few tell what one more takes.
std::optional<double> Chooser::simulate(const Method& m, const Question& q, uint64_t& budget) const {
  constexpr uint32_t kSome = 8, kMore = 12;
  const int n = room_.ranks;
  const Sizes sizes = even_sizes(q.bytes, m.chunks, kSegmentBytes);
  const uint32_t segments = sizes.segments <= kMore ? sizes.segments : kSome + kMore;
  const auto messages = messages_of(m);
  if (messages && !spend(budget, *messages * n * segments)) return {};
  std::vector<Program> programs;
  for (int r = 0; r < n; r++) {
    programs.push_back(m.build(r, m.root == kAnyRoot ? 0 : m.root, asks_in_place(q)));
    if (!messages && !spend(budget, double(sends_of(programs.back())) * segments)) return {};
  }
  auto seconds = [&](uint32_t of_segments) {
    Sizes front = sizes;
    front.segments = of_segments;
    front.all = std::min<uint64_t>(sizes.all, of_segments * sizes.segment * m.chunks);
    front.chunk = std::min(sizes.chunk, of_segments * sizes.segment);
    auto result = cost(programs, front, room_);
    return result.ok() ? result->seconds : kUnknown;
  };
  if (sizes.segments <= kMore) return seconds(sizes.segments);
  const double some = seconds(kSome), more = seconds(kMore);
  return more + (more - some) * double(sizes.segments - kMore) / (kMore - kSome);
}

// Formulas and simulations are not compared with each other: all that may be the best are simulated, or none.
// In a crowd none of those with a formula: the cost machine gives a core to who has something to do, at once.
void Chooser::simulate_best(std::vector<Candidate>& list, const Question& q) const {
  double least = kUnknown;
  uint64_t budget = !plain_host() && room_.ranks <= kFewRanks ? kFarBudget : kBudget;
  for (const Candidate& c : list) {
    if (!c.proven) continue;
    least = std::min(least, c.predicted);
    if (open(*c.method)) budget = kOpenBudget;
  }
  std::vector<Candidate> simulated = list;
  for (Candidate& c : simulated) {
    if (!c.proven || (!open(*c.method) && (crowded() || c.predicted > least * kDoubt))) continue;
    const auto seconds = simulate(*c.method, q, budget);
    if (!seconds && open(*c.method)) continue;
    if (!seconds) return;
    c.predicted = *seconds;
    c.simulated = true;
  }
  list = std::move(simulated);
}

}  // namespace plait::collectives
