// How a collective grows, counted and simulated rather than timed: steps, messages and vectors that a rank
// sends, for every number of ranks from 2 to 1024, held against the formulas of the literature; what planning
// takes up to 65,536 ranks; what one more segment and one more stream under way cost. Prints KIND ALGORITHM
// X,VALUE,UNIT; exits 1 where a count is not its formula.
#include <time.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "collectives/algorithms.h"
#include "collectives/choice/outline.h"
#include "collectives/machine/cost.h"

namespace plait::collectives {
namespace {

constexpr int kMost = 1024, kPlanned = 65536;
constexpr double kExact = 1e-9;

using Formula = std::function<double(double n)>;

struct Case {
  Collective collective;
  const char* name;
  bool powers_only;                  // the formula is of powers of two
  Formula steps, messages, vectors;  // of the rank that sends the most, in place
};

double log2_of(double n) { return std::log2(n); }
double twice_log2(double n) { return 2 * std::log2(n); }
double rounds(double n) { return log2_up(int(n)); }
double others(double n) { return n - 1; }
double twice_others(double n) { return 2 * (n - 1); }
double share(double n) { return (n - 1) / n; }
double twice_share(double n) { return 2 * (n - 1) / n; }
double doubling_steps(double n) { return n == 2 ? 3 : 2 * std::log2(n); }
double barrier_steps(double n) { return 2 * rounds(n) + 1; }
Formula times(double factor, const Formula& of) {
  return [=](double n) { return factor * of(n); };
}

std::vector<Case> cases() {
  using enum Collective;
  return {
      // A message is a step of either rank; a barrier has one more to enter, and two ranks that swap in place
      // one to part.
      {allreduce, "ring", false, times(2, twice_others), twice_others, twice_share},
      {allreduce, "recursive_doubling", true, doubling_steps, log2_of, log2_of},
      {allreduce, "rabenseifner", true, nullptr, twice_log2, twice_share},
      {allreduce, "swing", true, nullptr, twice_log2, twice_share},
      {reduce_scatter, "ring", false, nullptr, others, share},
      {allgather, "ring", false, times(2, others), others, share},
      {alltoall, "pairwise", false, nullptr, others, share},
      {broadcast, "binomial", false, rounds, rounds, rounds},
      {barrier, "dissemination", false, barrier_steps, rounds, nullptr},
  };
}

struct Counts {
  double steps = 0, messages = 0, vectors = 0;
};

Counts count(const Program& program) {
  Counts c;
  c.steps = double(program.steps.size());
  for (const Step& step : program.steps) {
    if (!sends(step.op)) continue;
    c.messages += (step.flags & kMore) == 0 ? 1 : 0;
    if (program.chunks > 0) c.vectors += double(step.count) / program.chunks;
  }
  return c;
}

std::string title(const Case& c) { return std::string(name_of(c.collective)) + "/" + c.name; }

bool is_power(int n) { return (n & (n - 1)) == 0; }

int wrong = 0;

// The first that is wrong of each kind is told.
bool holds(const Case& c, const char* what, int n, double found, const Formula& formula) {
  if (!formula) return true;
  const double want = formula(n);
  if (std::abs(found - want) <= kExact * std::max(1.0, want)) return true;
  std::fprintf(stderr, "bench_growth: %s of %d ranks: %s %g, the formula says %g\n", title(c).c_str(), n,
               what, found, want);
  ++wrong;
  return false;
}

void show(const char* kind, const std::string& algorithm, double x, double value, const char* unit) {
  std::printf("%s %s %.0f,%.6g,%s\n", kind, algorithm.c_str(), x, value, unit);
}

// Rank 0 is the root, and whatever rank of those that are all alike.
void grow(const Case& c) {
  const Algorithm* algorithm = find_algorithm(c.collective, c.name);
  if (algorithm == nullptr) {
    std::fprintf(stderr, "bench_growth: there is no %s\n", title(c).c_str());
    ++wrong;
    return;
  }
  for (int n = 2; n <= kMost; ++n) {
    if (!algorithm->accepts(n) || (c.powers_only && !is_power(n))) continue;
    const Counts found = count(algorithm->build(n, 0, 0, true));
    if (!holds(c, "steps", n, found.steps, c.steps) || !holds(c, "messages", n, found.messages, c.messages) ||
        !holds(c, "vectors", n, found.vectors, c.vectors)) {
      return;
    }
    if (!is_power(n)) continue;
    show("steps", title(c), n, found.steps, "steps");
    show("messages", title(c), n, found.messages, "messages");
    if (c.vectors) show("bytes", title(c), n, found.vectors, "vectors");
  }
}

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
}

// The best of a few, in time of this thread.
void plan(Collective collective, const char* name) {
  const Algorithm* algorithm = find_algorithm(collective, name);
  const std::string what = std::string(name_of(collective)) + "/" + name;
  for (int n = 2; algorithm != nullptr && n <= kPlanned; n *= 2) {
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
      const double start = cpu_ms();
      const Program program = algorithm->build(n, n / 3, 0, true);
      best = std::min(best, cpu_ms() - start);
    }
    show("plan", what, n, best, "ms");
  }
}

// An allreduce of 16 MiB among 8 ranks in the room of textbooks: messages of 1 us and 1 ns for each byte. For
// algorithms whose steps are of one chunk each, which is what is cut.
void simulate(const char* kind, const char* name, double x, uint32_t segments, uint32_t windows) {
  constexpr int kRanks = 8;
  constexpr uint64_t kBytes = uint64_t{16} << 20;
  const Algorithm* algorithm = find_algorithm(Collective::allreduce, name);
  Room room = textbook_room(kRanks, 1e-6, 1e-9, 2.5e-10);
  room.windows = windows;
  const uint32_t chunks = algorithm->chunks(kRanks);
  const auto program_of = [&](int32_t rank) { return algorithm->build(kRanks, rank, 0, true); };
  const auto found = cost(program_of, even_sizes(kBytes, chunks, kBytes / chunks / segments), room);
  if (found.ok()) show(kind, std::string("allreduce/") + name, x, found->seconds * 1e6, "us");
}

void all() {
  for (const Case& c : cases()) grow(c);
  plan(Collective::allreduce, "ring");
  plan(Collective::allreduce, "rabenseifner");
  plan(Collective::allreduce, "double_tree");
  plan(Collective::barrier, "dissemination");
  for (const char* name : {"ring", "double_tree"}) {
    for (uint32_t segments = 1; segments <= 256; segments *= 2)
      simulate("segments", name, segments, segments, 4);
    for (uint32_t windows = 1; windows <= 8; ++windows) simulate("streams", name, windows, 64, windows);
  }
}

}  // namespace
}  // namespace plait::collectives

int main() {
  plait::collectives::all();
  return plait::collectives::wrong == 0 ? 0 : 1;
}
