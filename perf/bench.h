// One rank of the benchmark: goes through all rows with the others; rank 0 also prints.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perf/collective.h"
#include "perf/memory.h"
#include "perf/options.h"
#include "perf/ranks.h"
#include "perf/regret.h"
#include "perf/rival/started.h"
#include "perf/row.h"
#include "perf/watch.h"
#include "plait/plait.h"

namespace plait::perf {

class Bench {
 public:
  // `comm` stays the caller's.
  Bench(const Options& options, plait_comm* comm);
  // Throws Failure.
  void run();
  // On rank 0 the rows measured so far; elsewhere empty.
  const std::vector<Row>& rows() const { return rows_; }
  // The same of --explain and --regret.
  const std::vector<Comparison>& comparisons() const { return comparisons_; }
  int rank() const { return ranks_.rank(); }

 private:
  struct Timing {
    double median_us;
    Spread calls;
    std::optional<double> rival_us;
  };

  void allocate();
  void introduce();
  void measure_pair(const Dtype& dtype, const Op& op, int root, size_t bytes);
  template <class Work>
  auto watched(const Case& c, Work work);
  void compare(const Case& c);
  Row measure(Case c);
  void clear(const Case& c);
  Timing time(const Case& c, const Pointers& at);
  template <class Call>
  std::vector<double> in_turns(const Case& c, int batch, Call call, std::optional<double>& rival_us);
  void check(const Case& c, const Pointers& at, Row& row);

  std::string algorithm_of(const Case& c, const Pointers& at);
  void prepare(const Case& c, const Pointers& at);
  void call(const Case& c, const Pointers& at);

  const Options& options_;
  Ranks ranks_;
  plait_call_config config_{};
  plait_request* plan_ = nullptr;  // of the row, where plans are asked for
  Buffer first_, second_;
  std::unique_ptr<rival::Started> rival_;  // of rank 0
  uint64_t seed_ = 0;
  Watch watch_;  // of rank 0
  std::vector<Row> rows_;
  std::vector<Comparison> comparisons_;
};

}  // namespace plait::perf
