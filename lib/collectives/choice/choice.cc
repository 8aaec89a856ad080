#include "collectives/choice/choice.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "collectives/choice/outline.h"
#include "collectives/machine/cost.h"

namespace plait::collectives {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();
constexpr size_t kSizeClasses = 66, kFlags = 16;
constexpr int kLargest = 46;  // as a power of two: above, more bytes change nothing

// Messages simulated for one choice: some 0.3 us each, and as much to build their programs.
constexpr uint64_t kBudget = 1200;
// A formula may be wrong by this much against another one.
constexpr double kDoubt = 2.5;
// Predictions closer than this are alike; then what folds in the order of ranks, and what stands first, is
// taken.
constexpr double kAlike = 1.02;
// The real machine's, below which it does not cut a chunk.
constexpr uint64_t kSegmentBytes = 256 * 1024;

bool asks_in_place(const Question& q) { return q.in_place && !rooted(q.collective); }

uint64_t bytes_of_class(int k) { return k == 0 ? 0 : uint64_t{1} << std::min(k - 1, kLargest); }

double time_of(const Candidate& c) { return c.measured ? *c.measured : c.predicted; }

// Where one rank is apart, the others do not know whether its buffers are in place.
bool buffered(const Algorithm& a, const Question& q) {
  if (rooted(q.collective)) return a.min_credits[0] > 0 || a.min_credits[1] > 0;
  return a.min_credits[q.in_place] > 0;
}

size_t class_of(const Question& q) {
  const size_t flags = size_t(asks_in_place(q)) << 3 | size_t(q.commutes) << 2 |
                       size_t(q.deterministic) << 1 | size_t(q.lengths_known);
  return (size_t(q.collective) * kFlags + flags) * kSizeClasses + size_t(size_class(q.bytes));
}

// How much a time is worth: those of another kind do not compare.
int trust(const Candidate& c) { return c.measured ? 4 : (c.proven ? 2 : 0) + (c.simulated ? 1 : 0); }

// Among few ranks of a host these were measured against each other (docs/performance.md), and are the best by
// far of what others do; what has not been measured beside them waits for a tuning file.
bool proven(const Algorithm& a, int32_t ranks, int32_t hosts) {
  if (a.collective != Collective::allreduce || hosts > 1 || ranks > 8) return true;
  return a.name == "all_to_all" || a.name == "direct" || a.name == "ring";
}

// The best one first: the least time, but for those that are alike.
void put_best_first(std::vector<Candidate>& list) {
  std::stable_sort(list.begin(), list.end(), [](const Candidate& a, const Candidate& b) {
    return trust(a) != trust(b) ? trust(a) > trust(b) : time_of(a) < time_of(b);
  });
  if (list.empty()) return;
  auto alike = [&](const Candidate& c) {
    return trust(c) == trust(list[0]) && time_of(c) <= time_of(list[0]) * kAlike;
  };
  auto better = [](const Candidate& a, const Candidate& b) {
    if (a.algorithm->rank_order != b.algorithm->rank_order) return a.algorithm->rank_order;
    return a.algorithm < b.algorithm;
  };
  auto end = std::find_if_not(list.begin(), list.end(), alike);
  auto best = std::min_element(list.begin(), end, better);
  std::rotate(list.begin(), best, best + 1);
}

}  // namespace

int size_class(uint64_t bytes) noexcept { return bytes == 0 ? 0 : 1 + int(std::bit_width(bytes - 1)); }

Chooser::Chooser(Room room, Runs runs) : room_(std::move(room)), runs_(std::move(runs)) {
  std::vector<int32_t> seated;
  for (int32_t r = 0; r < room_.ranks; r++) {
    const auto host = size_t(room_.host(r));
    if (seated.size() <= host) seated.resize(host + 1);
    most_on_host_ = std::max(most_on_host_, ++seated[host]);
  }
  hosts_ = int32_t(seated.size());
  use(nullptr);
}

void Chooser::use(std::shared_ptr<const Tuning> tuning) {
  tuning_ = std::move(tuning);
  chosen_.assign(size_t(kCollectives) * kFlags * kSizeClasses, nullptr);
}

const Algorithm* Chooser::choose(const Question& question) {
  const Algorithm*& known = chosen_[class_of(question)];
  if (known != nullptr) return known;
  for (const Candidate& c : candidates(question)) {
    if (runs_ && !runs_(*c.algorithm, question)) continue;
    return known = c.algorithm;
  }
  return nullptr;
}

std::vector<Candidate> Chooser::candidates(const Question& question) const {
  Question q = question;
  q.bytes = bytes_of_class(size_class(q.bytes));
  std::vector<Candidate> list = fitting(q);
  if (std::none_of(list.begin(), list.end(), [](auto& c) { return c.measured.has_value(); }))
    simulate_best(list, q);
  put_best_first(list);
  return list;
}

std::vector<Candidate> Chooser::fitting(const Question& q) const {
  std::vector<Candidate> list;
  for (const Algorithm& a : algorithms()) {
    if (a.collective != q.collective || !a.accepts(room_.ranks)) continue;
    if (reduces(q.collective) && room_.ranks > 1) {
      if (!q.commutes && !a.rank_order) continue;
      if (q.deterministic && !a.deterministic) continue;
    }
    Candidate c;
    c.algorithm = &a;
    c.predicted = estimate(a, q);
    c.proven = proven(a, room_.ranks, hosts_);
    if (tuning_ != nullptr) {
      const TuningCase known{q.collective, room_.ranks, hosts_, asks_in_place(q)};
      c.measured = tuning_->seconds(known, a.name, q.bytes);
    }
    list.push_back(c);
  }
  return list;
}

// All terms as if nothing overlapped but the pieces of one message.
double Chooser::estimate(const Algorithm& algorithm, const Question& q) const {
  const auto outline = outline_of(q.collective, algorithm.name, room_.ranks);
  if (!outline) return kUnknown;
  const Outline& o = *outline;
  if (o.messages == 0) return 0;
  const double bytes = double(q.bytes), moved = bytes * o.moved;
  const Link& link = hosts_ > 1 ? room_.between : room_.inside;
  const Delivery& d = link.delivery(uint64_t(moved / o.messages), buffered(algorithm, q));
  const double streams = hosts_ > 1 && !o.neighbours ? most_on_host_ : 1;
  const double wire = o.messages * d.gap + moved * std::max(d.byte, link.host_byte * streams);
  const double core = o.messages * (d.send + d.recv) + moved * (d.send_byte + d.recv_byte) +
                      bytes * (o.folded * room_.fold + o.copied * (d.placed ? room_.store : room_.copy));
  const double crowd = room_.cores == 0 ? 1 : std::max(1.0, double(most_on_host_) / double(room_.cores));
  const double switches = crowd > 1 ? (o.rounds + 1) * crowd * room_.task_switch : 0;
  const double passing = d.piece == UINT64_MAX ? crowd * core + wire : std::max(crowd * core, wire);
  return o.rounds * d.latency * (d.acknowledged ? 2 : 1) + passing + switches;
}

// Long vectors repeat themselves: of many segments a few tell what one more takes.
std::optional<double> Chooser::simulate(const Algorithm& a, const Question& q, uint64_t& budget) const {
  constexpr uint32_t kSome = 8, kMore = 12;
  const int n = room_.ranks;
  const Sizes sizes = even_sizes(q.bytes, a.chunks(n), kSegmentBytes);
  const auto outline = outline_of(q.collective, a.name, n);
  const uint32_t segments = sizes.segments <= kMore ? sizes.segments : kSome + kMore;
  const double messages = outline ? outline->messages * n * segments : double(budget) + 1;
  if (messages > double(budget)) return {};
  budget -= uint64_t(messages);
  std::vector<Program> programs;
  for (int r = 0; r < n; r++) programs.push_back(a.build(n, r, 0, asks_in_place(q)));
  auto seconds = [&](uint32_t of_segments) {
    Sizes front = sizes;
    front.segments = of_segments;
    front.all = std::min<uint64_t>(sizes.all, of_segments * sizes.segment * a.chunks(n));
    front.chunk = std::min(sizes.chunk, of_segments * sizes.segment);
    auto result = cost(programs, front, room_);
    return result.ok() ? result->seconds : kUnknown;
  };
  if (sizes.segments <= kMore) return seconds(sizes.segments);
  const double some = seconds(kSome), more = seconds(kMore);
  return more + (more - some) * double(sizes.segments - kMore) / (kMore - kSome);
}

// Formulas and simulations are not compared with each other: all that may be the best are simulated, or none.
void Chooser::simulate_best(std::vector<Candidate>& list, const Question& q) const {
  double least = kUnknown;
  for (const Candidate& c : list)
    if (c.proven) least = std::min(least, c.predicted);
  std::vector<Candidate> simulated = list;
  uint64_t budget = kBudget;
  for (Candidate& c : simulated) {
    if (!c.proven || c.predicted > least * kDoubt) continue;
    const auto seconds = simulate(*c.algorithm, q, budget);
    if (!seconds) return;
    c.predicted = *seconds;
    c.simulated = true;
  }
  list = std::move(simulated);
}

}  // namespace plait::collectives
