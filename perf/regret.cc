#include "perf/regret.h"

#include <algorithm>
#include <cstdio>

#include "perf/row.h"

namespace plait::perf {
namespace {

// Above, a call is looked at again, so many times at most.
constexpr double kSuspicious = 1.15;
constexpr int kAgain = 3;

std::string known_text(double us) { return us < 0 ? "-" : number(us); }

// "# 2 hosts of 4 ranks", once.
void print_machine(const std::string& lines) {
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    std::printf("# %s\n", lines.substr(at, end - at).c_str());
    at = end + 1;
  }
}

void explain(const Comparison& c) {
  for (size_t i = 1; i < c.standings.entrants.size(); ++i) {
    const Entrant& e = c.standings.entrants[i];
    std::printf("  %10zu %8s %c %-20s %9s %c %9s %9s\n", c.what.bytes(), c.what.in_place ? "yes" : "no",
                e.chosen ? '*' : ' ', e.algorithm.c_str(), known_text(e.predicted_us).c_str(),
                e.predicted_us < 0 ? ' '
                : e.simulated      ? 's'
                                   : 'f',
                known_text(e.tuned_us).c_str(), number(e.time_us()).c_str());
  }
}

void weigh(const Comparison& c) {
  const Standings& s = c.standings;
  std::printf("  %10zu %8s  %-20s %9s  %-20s %9s %7.3f\n", c.what.bytes(), c.what.in_place ? "yes" : "no",
              s.chosen().algorithm.c_str(), number(s.choice().time_us()).c_str(), s.best().algorithm.c_str(),
              number(s.best().time_us()).c_str(), s.regret());
}

}  // namespace

void settle(Contest& contest, const Options& options) {
  contest.run(options.iterations);
  if (options.mode != Mode::regret) return;
  for (int i = 0; i < kAgain && contest.standings().regret() > kSuspicious; ++i)
    contest.run(options.iterations);
}

void print_comparison_head(const Options& options) {
  if (options.mode == Mode::explain) {
    std::printf(
        "# * chosen; predicted by f: formula, s: simulation; tuned: of the tuning file; times in us\n#\n");
    std::printf("# %10s %8s   %-20s %9s   %9s %9s\n", "size (B)", "in-place", "algorithm", "predicted",
                "tuned", "measured");
  } else {
    std::printf("# times in us, of the choice and of the best that is forced\n#\n");
    std::printf("# %10s %8s  %-20s %9s  %-20s %9s %7s\n", "size (B)", "in-place", "chosen", "time", "best",
                "time", "regret");
  }
}

void print_comparison(const Options& options, const Comparison& comparison, bool first) {
  if (first) print_machine(comparison.standings.machine);
  options.mode == Mode::explain ? explain(comparison) : weigh(comparison);
  std::fflush(stdout);
}

void print_comparison_foot(const std::vector<Comparison>& comparisons) {
  if (comparisons.empty()) return;
  std::vector<double> all;
  const Comparison* worst = &comparisons[0];
  for (const Comparison& c : comparisons) {
    all.push_back(c.standings.regret());
    if (all.back() > worst->standings.regret()) worst = &c;
  }
  std::printf("# regret: median %.3f, worst %.3f at %zu B%s\n", percentile(all, .5),
              worst->standings.regret(), worst->what.bytes(), worst->what.in_place ? " in place" : "");
}

}  // namespace plait::perf
