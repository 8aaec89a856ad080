// The ranks of a communicator, which all make the same calls: errors, results that all have, time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/clock.h"
#include "plait/plait.h"

namespace plait::perf {

// A call of plait failed; what() has plait's own sentence.
class Failure : public std::runtime_error {
  using runtime_error::runtime_error;
};

// The nearest-rank percentile. Sorts `samples`, which must not be empty.
double percentile(std::vector<double>& samples, double fraction);

// Of single calls.
struct Spread {
  double least_us, most_us, p99_us;
  double variation;  // the standard deviation by the mean
};
Spread spread_of(std::vector<double> calls_us);  // not none

// Which rank's time an iteration is said to take.
enum class Whose : uint8_t { first, mean, fastest, slowest };
// Of the ranks' times, which must not be none.
double time_of(Whose whose, std::span<const double> ranks);

// Everything but the accessors is collective, and throws Failure.
class Ranks {
 public:
  // `comm` stays the caller's.
  explicit Ranks(plait_comm* comm);

  plait_comm* comm() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  int hosts() const { return hosts_; }
  // What joins the ranks, innermost level first: "shm", "tcp", "shm+tcp", "shm+ofi:tcp".
  const std::string& transport() const { return transport_; }

  void must(plait_status status, const std::string& doing) const;
  // The same bytes from every rank, in order of ranks.
  template <class T>
  std::vector<T> gather(std::span<const T> own);
  // What rank 0 has.
  template <class T>
  T of_first(const T& own) {
    return gather(std::span<const T>(&own, 1))[0];
  }

  // Microseconds that `call` takes at its fastest of a few times, as rank 0 finds, so that all decide alike
  // by it.
  template <class Call>
  double glance(int calls, Call call);
  // Microseconds a call, once for each of so many samples of `batch` calls.
  template <class Call>
  std::vector<double> sample(int samples, int batch, Call call, Whose whose = Whose::slowest);

 private:
  std::vector<double> of(Whose whose, const std::vector<double>& own);

  plait_comm* comm_;
  int32_t rank_ = 0, size_ = 1, hosts_ = 1;
  std::string transport_;
};

// How many calls of so many microseconds to time at once, so that reading the clock (20 ns) is below a
// thousandth.
int batch_of(double call_us);

template <class T>
std::vector<T> Ranks::gather(std::span<const T> own) {
  std::vector<T> all(own.size() * size_t(size_));
  must(plait_allgather(comm_, own.data(), all.data(), own.size_bytes(), PLAIT_UINT8, nullptr, nullptr),
       "exchange of results");
  return all;
}

template <class Call>
double Ranks::glance(int calls, Call call) {
  double shortest = 1e300;
  for (int i = 0; i < calls; ++i) {
    const int64_t begin = now_ns();
    call();
    shortest = std::min(shortest, double(now_ns() - begin) / 1e3);
  }
  return of_first(shortest);
}

template <class Call>
std::vector<double> Ranks::sample(int samples, int batch, Call call, Whose whose) {
  std::vector<double> own(static_cast<size_t>(samples));
  must(plait_barrier(comm_, nullptr, nullptr), "barrier");
  int64_t begin = now_ns();
  for (double& one : own) {
    for (int i = 0; i < batch; ++i) call();
    const int64_t end = now_ns();
    one = double(end - begin) / 1e3 / batch;
    begin = end;
  }
  return of(whose, own);
}

}  // namespace plait::perf
