// The ways to make one call, timed in turns, so that whatever else the machine does meets all of them alike.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "perf/collective.h"
#include "perf/ranks.h"

namespace plait::perf {

struct Entrant {
  std::string algorithm;  // empty: what plait chooses
  bool chosen = false;    // that is this one
  bool simulated = false;
  double predicted_us = -1, tuned_us = -1;  // negative: not known
  std::vector<double> rounds_us = {};       // the median of each round that it took part in

  // The least of the rounds, of which there are some: what else the machine does only adds.
  double time_us() const;

  bool resting = false;  // far behind: takes part in no more rounds
};

// Who took part, the choice itself first.
struct Standings {
  std::vector<Entrant> entrants = {};
  std::string machine = {};  // how ranks lie and what joins them, as plait_explain tells it: lines

  const Entrant& choice() const { return entrants[0]; }  // by no name
  const Entrant& chosen() const;                         // the same by its name
  const Entrant& best() const;                           // by name
  // The choice's time by the best one's.
  double regret() const { return choice().time_us() / best().time_us(); }
};

class Contest {
 public:
  // Everything that runs for the call, as plait says; the first entrant is the choice itself. Collective,
  // like run(). `ranks`, `c` and what `at` points to outlive the contest.
  Contest(Ranks& ranks, const Case& c, Pointers at);

  // More rounds: each one a turn of every entrant, the order moving on by one. Those that are far behind the
  // best take part in the first ones only. Throws Failure.
  void run(int rounds);

  const Standings& standings() const { return standings_; }

 private:
  struct Free {
    void operator()(plait_request* plan) const { plait_request_free(plan); }
  };
  using Plan = std::unique_ptr<plait_request, Free>;

  void enter(const plait_candidate& candidate);
  Plan plan_of(const char* algorithm);  // null: what plait chooses
  void turn(Entrant& entrant, plait_request* plan);
  void rest();

  Ranks& ranks_;
  const Case& case_;
  const Pointers at_;
  Standings standings_;
  std::vector<Plan> plans_;  // of the entrants: a call would look its name up each time
  size_t rounds_ = 0;
};

// "allreduce of 1024 float32 (in place)", for errors.
std::string describe(const Case& c);

}  // namespace plait::perf
