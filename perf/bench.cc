#include "perf/bench.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/clock.h"

namespace plait::perf {
namespace {

// A timed batch lasts about this long, so that reading the clock (20 ns) is below a thousandth of it.
constexpr double kBatchUs = 50;
constexpr int kMostBatch = 1000;
// Samples behind a 99th percentile, where the calls are so short that they cost nothing: at most this many,
// and fewer where few iterations were asked for.
constexpr int kPercentileSamples = 300;
constexpr int kPercentileSamplesAnIteration = 20;

// The nearest-rank percentile. Sorts `samples`, which must not be empty.
double percentile(std::vector<double>& samples, double fraction) {
  std::sort(samples.begin(), samples.end());
  auto index = size_t(std::ceil(fraction * double(samples.size())));
  return samples[std::clamp<size_t>(index, 1, samples.size()) - 1];
}

std::string describe(const Case& c) {
  std::string text = c.collective->name;
  if (!c.collective->moves_data()) return text;
  return text + " of " + std::to_string(c.count) + " " + c.dtype->name +
         (c.in_place ? " (in place)" : " (out of place)");
}

// What joins the ranks, innermost level first: "shm", "tcp", "shm+tcp".
std::string transports(plait_comm* comm) {
  plait_level levels[4]{};
  for (plait_level& l : levels) l.struct_size = sizeof l;
  size_t count = 0;
  if (plait_comm_levels(comm, levels, std::size(levels), &count) != PLAIT_OK) return "none";
  std::string text;
  for (size_t i = 0; i < std::min(count, std::size(levels)); ++i) {
    if (levels[i].group_size == 1 && count > 1) continue;
    text += (text.empty() ? "" : "+") + std::string(levels[i].transport);
  }
  return text;
}

}  // namespace

Bench::Bench(const Options& options, plait_comm* comm) : options_(options), comm_(comm) {
  plait_comm_rank(comm, &rank_);
  plait_comm_size(comm, &ranks_);
  config_.struct_size = sizeof config_;
  if (!options.algorithm.empty()) config_.algorithm = options.algorithm.c_str();
  transport_ = transports(comm);
}

void Bench::must(plait_status status, const std::string& doing) const {
  if (status == PLAIT_OK) return;
  std::string text = plait_last_error(comm_);
  if (text.empty()) text = plait_last_error(nullptr);
  if (text.empty()) text = plait_status_string(status);
  throw Failure(doing + ": " + text);
}

template <class T>
std::vector<T> Bench::gather(std::span<const T> own) {
  std::vector<T> all(own.size() * size_t(ranks_));
  must(plait_allgather(comm_, own.data(), all.data(), own.size_bytes(), PLAIT_UINT8, nullptr, nullptr),
       "exchange of results");
  return all;
}

void Bench::run() {
  if (!options_.all_roots && options_.root >= ranks_) {
    throw Failure("-r " + std::to_string(options_.root) + ": there is no such rank; ranks are 0 to " +
                  std::to_string(ranks_ - 1));
  }
  allocate();
  introduce();
  const int first = options_.all_roots ? 0 : options_.root, last = options_.all_roots ? ranks_ - 1 : first;
  for (const Dtype* dtype : options_.dtypes) {
    for (const Op* op : options_.ops) {
      for (size_t bytes : options_.sizes) {
        for (int root = first; root <= last; ++root) measure_pair(*dtype, *op, root, bytes);
      }
    }
  }
}

void Bench::allocate() {
  size_t most = 0;
  for (const Dtype* dtype : options_.dtypes) {
    for (size_t bytes : options_.sizes) {
      Case c{options_.collective, dtype, nullptr, rank_, ranks_, 0, 0, false};
      c.count = count_for(*c.collective, *dtype, ranks_, bytes);
      most = std::max(most, c.bytes());
    }
  }
  Memory memory = options_.memory_of(rank_);
  std::string doing = "two buffers of " + std::to_string(most) + " bytes (" + memory_name(memory) + ")";
  must(first_.make(memory, most), doing);
  must(second_.make(memory, most), doing);
}

void Bench::introduce() {
  Member self{rank_, int32_t(getpid()), {}};
  gethostname(self.host, sizeof self.host - 1);
  std::vector<Member> all = gather(std::span<const Member>(&self, 1));
  if (rank_ == 0) print_head(options_, all, transport_);
}

void Bench::measure_pair(const Dtype& dtype, const Op& op, int root, size_t bytes) {
  Case c{options_.collective, &dtype, &op, rank_, ranks_, root, 0, false};
  c.count = count_for(*c.collective, dtype, ranks_, bytes);
  bool both = c.collective->moves_data();
  Row apart = measure(c);
  c.in_place = true;
  Row together = both ? measure(c) : apart;
  if (rank_ != 0) return;
  print_row(apart, both ? &together : nullptr);
  rows_.push_back(apart);
  if (both) rows_.push_back(together);
}

Row Bench::measure(Case c) {
  Pointers at = place(c, first_.data(), second_.data());
  if (options_.plan) prepare(c, at);
  Timing timing = time(c, at);
  Row row{c.collective,
          c.dtype,
          c.op,
          ranks_,
          c.root,
          c.count,
          c.bytes(),
          c.in_place,
          algorithm_of(c, at),
          transport_,
          options_.iterations,
          timing.median_us,
          timing.p99_us,
          std::nullopt};
  if (options_.checks > 0) row.wrong = check(c, at);
  must(plait_request_free(plan_), describe(c));
  plan_ = nullptr;
  return row;
}

// What plait chose for the call, by making it once.
std::string Bench::algorithm_of(const Case& c, const Pointers& at) {
  plait_request* request = nullptr;
  const char* name = "";
  must(perf::call(c, comm_, at, &config_, &request), describe(c));
  must(plait_wait(request), describe(c));
  must(plait_request_algorithm(request, &name), describe(c));
  must(plait_request_free(request), describe(c));
  return name;
}

void Bench::prepare(const Case& c, const Pointers& at) {
  must(perf::plan(c, comm_, at, &config_, &plan_), describe(c));
}

void Bench::call(const Case& c, const Pointers& at) {
  plait_status s;
  if (plan_ != nullptr) {
    s = plait_start(plan_);
    if (s == PLAIT_OK) s = plait_wait(plan_);
  } else {
    s = perf::call(c, comm_, at, &config_, nullptr);
  }
  if (s != PLAIT_OK) must(s, describe(c));
}

// Values that stay finite and normal however often they are reduced in place are not to be had; so the timed
// calls work on zeroes, which cost the same, and the checked calls on real values.
Bench::Timing Bench::time(const Case& c, const Pointers& at) {
  std::memset(first_.data(), 0, c.bytes());
  std::memset(second_.data(), 0, c.bytes());
  for (int i = 0; i < options_.warmup; ++i) call(c, at);
  int batch = agree_on_batch(c, at);
  std::vector<double> samples = sample(c, at, options_.iterations, batch);
  double median = percentile(samples, 0.5);
  // A batch hides how long its slowest call took: the tail is measured on single calls.
  if (batch > 1) {
    const int few = std::min(kPercentileSamples, kPercentileSamplesAnIteration * options_.iterations);
    samples = sample(c, at, std::max(few, options_.iterations), 1);
  }
  return {median, percentile(samples, 0.99)};
}

// How many calls to time at once; rank 0 decides, for all must make the same number of calls.
int Bench::agree_on_batch(const Case& c, const Pointers& at) {
  double shortest = 1e300;
  for (int i = 0; i < 4; ++i) {
    int64_t begin = now_ns();
    call(c, at);
    shortest = std::min(shortest, double(now_ns() - begin) / 1e3);
    if (shortest > kBatchUs) shortest = kBatchUs;
  }
  int32_t batch = std::clamp(int(kBatchUs / std::max(shortest, 0.01)), 1, kMostBatch);
  return gather(std::span<const int32_t>(&batch, 1))[0];
}

// Microseconds a call, once for each sample: of the slowest rank in it.
std::vector<double> Bench::sample(const Case& c, const Pointers& at, int samples, int batch) {
  std::vector<double> own(static_cast<size_t>(samples));
  must(plait_barrier(comm_, nullptr, nullptr), "barrier");
  int64_t begin = now_ns();
  for (double& one : own) {
    for (int i = 0; i < batch; ++i) call(c, at);
    int64_t end = now_ns();
    one = double(end - begin) / 1e3 / batch;
    begin = end;
  }
  std::vector<double> all = gather(std::span<const double>(own));
  for (size_t i = 0; i < own.size(); ++i) {
    for (size_t rank = 0; rank < size_t(ranks_); ++rank)
      own[i] = std::max(own[i], all[rank * own.size() + i]);
  }
  return own;
}

uint64_t Bench::check(const Case& c, const Pointers& at) {
  uint64_t wrong = 0;
  for (int i = 0; i < options_.checks; ++i) {
    Pattern pattern = make_pattern(c, ++seed_);
    fill_input(c, pattern, at);
    call(c, at);
    wrong += count_wrong(c, pattern, at);
    // Nobody fills his buffers for the next call while a peer still reads them: the gather below, or this
    // one's.
    must(plait_barrier(comm_, nullptr, nullptr), "barrier");
  }
  uint64_t all = 0;
  for (uint64_t one : gather(std::span<const uint64_t>(&wrong, 1))) all += one;
  return all;
}

}  // namespace plait::perf
