// One rank of the benchmark: goes through all rows with the others; rank 0 also prints.
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "perf/collective.h"
#include "perf/memory.h"
#include "perf/options.h"
#include "perf/row.h"
#include "plait/plait.h"

namespace plait::perf {

// A call of plait failed; what() has plait's own sentence.
class Failure : public std::runtime_error {
  using runtime_error::runtime_error;
};

class Bench {
 public:
  // `comm` stays the caller's.
  Bench(const Options& options, plait_comm* comm);
  // Throws Failure.
  void run();
  // On rank 0 the rows measured so far; elsewhere empty.
  const std::vector<Row>& rows() const { return rows_; }
  int rank() const { return rank_; }

 private:
  struct Timing {
    double median_us, p99_us;
  };

  void allocate();
  void introduce();
  void measure_pair(const Dtype& dtype, const Op& op, int root, size_t bytes);
  Row measure(Case c);
  Timing time(const Case& c, const Pointers& at);
  int agree_on_batch(const Case& c, const Pointers& at);
  std::vector<double> sample(const Case& c, const Pointers& at, int samples, int batch);
  uint64_t check(const Case& c, const Pointers& at);

  std::string algorithm_of(const Case& c, const Pointers& at);
  void prepare(const Case& c, const Pointers& at);
  void call(const Case& c, const Pointers& at);
  void must(plait_status status, const std::string& doing) const;
  // The same bytes from every rank, in order of ranks.
  template <class T>
  std::vector<T> gather(std::span<const T> own);

  const Options& options_;
  plait_comm* comm_;
  plait_call_config config_{};
  plait_request* plan_ = nullptr;  // of the row, where plans are asked for
  int32_t rank_ = 0, ranks_ = 1;
  std::string transport_ = "none";
  Buffer first_, second_;
  uint64_t seed_ = 0;
  std::vector<Row> rows_;
};

}  // namespace plait::perf
