// --explain and --regret: what could run a call, what plait takes, and how long each takes now.
#pragma once

#include <string>
#include <vector>

#include "perf/contest.h"
#include "perf/options.h"

namespace plait::perf {

struct Comparison {
  Case what;
  std::string transport;
  Standings standings;
};

// Runs the rounds asked for. A choice that seems bad is looked at again before anybody believes it: as many
// rounds once more, and again, together with the first ones. Collective; throws Failure.
void settle(Contest& contest, const Options& options);

void print_comparison_head(const Options& options);
// `first`: of those that are printed; what joins the ranks comes before it.
void print_comparison(const Options& options, const Comparison& comparison, bool first);
// Median and worst of all. Nothing where there are none.
void print_comparison_foot(const std::vector<Comparison>& comparisons);

// False, with the reason on stderr, when the file cannot be written.
bool write_json(const std::string& path, const std::vector<Comparison>& rows);

}  // namespace plait::perf
