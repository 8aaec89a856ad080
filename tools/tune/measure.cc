#include "tools/tune/measure.h"

#include <unistd.h>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "perf/contest.h"
#include "perf/memory.h"
#include "perf/ranks.h"
#include "tools/tune/combine.h"
#include "tools/tune/place.h"

namespace plait::tune {
namespace {

using collectives::Tuning;
using collectives::TuningCase;
using collectives::TuningRow;

// To a tenth of a nanosecond: the rest is noise, and long to read.
double rounded_seconds(double us) { return std::max(1.0, std::round(us * 1e4)) / 1e10; }

class Tuner {
 public:
  Tuner(const Options& options, plait_comm* comm)
      : options_(options), ranks_(comm), type_(*perf::find_dtype("float32")), sum_(*perf::find_op("sum")) {}

  Status run() {
    if (ranks_.size() == 1) {
      return {Code::invalid,
              "one rank has nothing to choose; start several: plait-run -n 4 plait-tune -o FILE"};
    }
    Status usable;
    if (ranks_.rank() == 0) usable = begin();
    if (ranks_.of_first(int32_t(usable.ok())) == 0) return usable;
    allocate();
    for (const perf::Collective* collective : options_.collectives) {
      measure(*collective, false);
      if (collective->moves_data() && !collective->has_root) measure(*collective, true);
    }
    return ranks_.rank() == 0 ? finish() : Status();
  }

 private:
  // Hours of measuring are not lost to a folder that is not there, nor to a file that cannot be merged.
  Status begin() {
    tuning_.machine = this_machine(uint32_t(ranks_.hosts()));
    Tuning trial = tuning_;
    if (options_.merge) PLAIT_TRY(merge(options_.out, trial));
    const size_t slash = options_.out.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : options_.out.substr(0, slash + 1);
    if (::access(folder.c_str(), W_OK) != 0) return Status::system(errno, "cannot write " + options_.out);
    std::printf("# plait-tune: %d ranks on %u host%s of %s, %u cores\n", ranks_.size(), tuning_.machine.hosts,
                tuning_.machine.hosts == 1 ? "" : "s", tuning_.machine.cpu.c_str(), tuning_.machine.cores);
    return {};
  }

  Status finish() {
    if (options_.merge) PLAIT_TRY(merge(options_.out, tuning_));
    PLAIT_TRY(write_file(options_.out, tuning_));
    std::printf("# wrote %s; cases: %zu\n", options_.out.c_str(), tuning_.cases.size());
    return {};
  }

  perf::Case case_of(const perf::Collective& collective, size_t bytes, bool in_place) const {
    perf::Case c{&collective, &type_, &sum_, ranks_.rank(), ranks_.size(), 0, 0, in_place};
    c.count = perf::count_for(collective, type_, ranks_.size(), bytes);
    return c;
  }

  void allocate() {
    size_t most = 1;
    for (const perf::Collective* collective : options_.collectives)
      most = std::max(most, case_of(*collective, options_.sizes.back(), false).bytes());
    for (perf::Buffer* buffer : {&first_, &second_}) {
      ranks_.must(buffer->make(perf::Memory::allocated, most),
                  "two buffers of " + std::to_string(most) + " bytes");
      std::memset(buffer->data(), 0, most);
    }
  }

  void measure(const perf::Collective& collective, bool in_place) {
    std::vector<TuningRow> rows;
    std::vector<double> regrets;
    for (size_t bytes : collective.moves_data() ? options_.sizes : std::vector<size_t>{0}) {
      const perf::Case c = case_of(collective, bytes, in_place);
      if (!rows.empty() && c.bytes() <= rows.back().bytes) continue;  // a few bytes are an element each
      perf::Contest contest(ranks_, c, perf::place(c, first_.data(), second_.data()));
      contest.run(options_.rounds);
      regrets.push_back(contest.standings().regret());
      rows.push_back({.bytes = c.bytes()});
      for (const perf::Entrant& e : contest.standings().entrants) {
        if (!e.algorithm.empty()) rows.back().seconds[e.algorithm] = rounded_seconds(e.time_us());
      }
    }
    if (ranks_.rank() != 0) return;
    std::printf("%-14s %-9s sizes: %2zu; plait's choice by the best: median %.2f, worst %.2f\n",
                collective.name, in_place ? "in place" : "", rows.size(), perf::percentile(regrets, .5),
                perf::percentile(regrets, 1));
    std::fflush(stdout);
    TuningCase what{.ranks = ranks_.size(), .hosts = ranks_.hosts(), .in_place = in_place};
    for (uint32_t i = 0; i < collectives::kCollectives; i++) {
      if (name_of(collectives::Collective(i)) == collective.name)
        what.collective = collectives::Collective(i);
    }
    tuning_.cases[what] = std::move(rows);
  }

  const Options& options_;
  perf::Ranks ranks_;
  const perf::Dtype& type_;
  const perf::Op& sum_;
  perf::Buffer first_, second_;
  Tuning tuning_;  // on rank 0
};

}  // namespace

Status measure(const Options& options, plait_comm* comm) {
  try {
    return Tuner(options, comm).run();
  } catch (const perf::Failure& e) {
    plait_comm_abort(comm);  // the others need not wait for us
    return {Code::internal, e.what()};
  }
}

}  // namespace plait::tune
