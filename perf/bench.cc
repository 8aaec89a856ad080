#include "perf/bench.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace plait::perf {
namespace {

// Samples behind a 99th percentile, where the calls are so short that they cost nothing: at most this many,
// and fewer where few iterations were asked for.
constexpr int kPercentileSamples = 300;
constexpr int kPercentileSamplesAnIteration = 20;
constexpr int kTurns = 5;  // of plait and of what it is compared with

}  // namespace

Bench::Bench(const Options& options, plait_comm* comm) : options_(options), ranks_(comm) {
  config_.struct_size = sizeof config_;
  if (!options.algorithm.empty()) config_.algorithm = options.algorithm.c_str();
}

void Bench::run() {
  if (!options_.all_roots && options_.root >= ranks_.size()) {
    throw Failure("-r " + std::to_string(options_.root) + ": there is no such rank; ranks are 0 to " +
                  std::to_string(ranks_.size() - 1));
  }
  if (!options_.rival.empty() && ranks_.hosts() > 1)
    throw Failure("--compare " + options_.rival + ": the ranks must be on one host");
  if (!options_.rival.empty() && rank() == 0)
    rival_ = std::make_unique<rival::Started>(options_.rival, ranks_.size());
  allocate();
  introduce();
  const int first = options_.all_roots ? 0 : options_.root,
            last = options_.all_roots ? ranks_.size() - 1 : first;
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
      Case c{options_.collective, dtype, nullptr, ranks_.rank(), ranks_.size(), 0, 0, false};
      c.count = count_for(*c.collective, *dtype, ranks_.size(), bytes);
      most = std::max(most, c.bytes());
    }
  }
  Memory memory = options_.memory_of(rank());
  std::string doing = "two buffers of " + std::to_string(most) + " bytes (" + memory_name(memory) + ")";
  ranks_.must(first_.make(memory, most), doing);
  ranks_.must(second_.make(memory, most), doing);
}

void Bench::introduce() {
  Member self{rank(), int32_t(getpid()), {}};
  gethostname(self.host, sizeof self.host - 1);
  std::vector<Member> all = ranks_.gather(std::span<const Member>(&self, 1));
  if (rank() == 0) print_head(options_, all, ranks_.transport());
}

// Rank 0 tells of it where it takes long.
template <class Work>
auto Bench::watched(const Case& c, Work work) {
  std::optional<Watch::Shown> shown;
  if (rank() == 0)
    shown.emplace(watch_, std::string(c.collective->name) + " of " + std::to_string(c.bytes()) + " bytes" +
                              (c.in_place ? ", in place" : ""));
  return work();
}

void Bench::measure_pair(const Dtype& dtype, const Op& op, int root, size_t bytes) {
  Case c{options_.collective, &dtype, &op, ranks_.rank(), ranks_.size(), root, 0, false};
  c.count = count_for(*c.collective, dtype, ranks_.size(), bytes);
  bool both = c.collective->moves_data();
  if (options_.mode != Mode::time) {
    compare(c);
    c.in_place = true;
    if (both) compare(c);
    return;
  }
  Row apart = watched(c, [&] { return measure(c); });
  c.in_place = true;
  Row together = both ? watched(c, [&] { return measure(c); }) : apart;
  if (rank() != 0) return;
  print_row(options_, apart, both ? &together : nullptr);
  rows_.push_back(apart);
  if (both) rows_.push_back(together);
}

void Bench::compare(const Case& c) {
  clear(c);
  Contest contest(ranks_, c, place(c, first_.data(), second_.data()));
  watched(c, [&] { settle(contest, options_); });
  if (rank() != 0) return;
  comparisons_.push_back({c, ranks_.transport(), contest.standings()});
  print_comparison(options_, comparisons_.back(), comparisons_.size() == 1);
}

Row Bench::measure(Case c) {
  Pointers at = place(c, first_.data(), second_.data());
  if (options_.plan) prepare(c, at);
  Timing timing = time(c, at);
  Row row{c.collective,
          c.dtype,
          c.op,
          ranks_.size(),
          c.root,
          c.count,
          c.bytes(),
          c.in_place,
          algorithm_of(c, at),
          ranks_.transport(),
          options_.iterations,
          timing.median_us,
          timing.calls,
          timing.rival_us};
  if (options_.checks > 0) check(c, at, row);
  ranks_.must(plait_request_free(plan_), describe(c));
  plan_ = nullptr;
  return row;
}

// What plait chose for the call, by making it once.
std::string Bench::algorithm_of(const Case& c, const Pointers& at) {
  plait_request* request = nullptr;
  const char* name = "";
  ranks_.must(perf::call(c, ranks_.comm(), at, &config_, &request), describe(c));
  ranks_.must(plait_wait(request), describe(c));
  ranks_.must(plait_request_algorithm(request, &name), describe(c));
  ranks_.must(plait_request_free(request), describe(c));
  return name;
}

void Bench::prepare(const Case& c, const Pointers& at) {
  ranks_.must(perf::plan(c, ranks_.comm(), at, &config_, &plan_), describe(c));
}

void Bench::call(const Case& c, const Pointers& at) {
  plait_status s;
  if (plan_ != nullptr) {
    s = plait_start(plan_);
    if (s == PLAIT_OK) s = plait_wait(plan_);
  } else {
    s = perf::call(c, ranks_.comm(), at, &config_, nullptr);
  }
  if (s != PLAIT_OK) ranks_.must(s, describe(c));
}

// Values that stay finite and normal however often they are reduced in place are not to be had; so the timed
// calls work on zeroes, which cost the same, and the checked calls on real values.
void Bench::clear(const Case& c) {
  std::memset(first_.data(), 0, c.bytes());
  std::memset(second_.data(), 0, c.bytes());
}

Bench::Timing Bench::time(const Case& c, const Pointers& at) {
  clear(c);
  for (int i = 0; i < options_.warmup; ++i) call(c, at);
  auto one = [&] { call(c, at); };
  const int batch = batch_of(ranks_.glance(4, one));
  std::optional<double> rival_us;
  std::vector<double> samples = options_.rival.empty()
                                    ? ranks_.sample(options_.iterations, batch, one, options_.whose)
                                    : in_turns(c, batch, one, rival_us);
  double median = percentile(samples, 0.5);
  // A batch hides how long its slowest call took: the tail is measured on single calls.
  if (batch > 1) {
    const int few = std::min(kPercentileSamples, kPercentileSamplesAnIteration * options_.iterations);
    samples = ranks_.sample(std::max(few, options_.iterations), 1, one, options_.whose);
  }
  return {median, spread_of(std::move(samples)), rival_us};
}

// So that what else the machine does hits both alike. The other ranks wait in the barrier before their next
// turn.
template <class Call>
std::vector<double> Bench::in_turns(const Case& c, int batch, Call call, std::optional<double>& rival_us) {
  const int each = (options_.iterations + kTurns - 1) / kTurns;
  const rival::Order order{c.collective->kind, c.count, c.root, c.in_place, options_.warmup, each, batch};
  std::vector<double> own, theirs;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (int i = 0; i < options_.warmup; ++i) call();  // the ranks slept
    for (double us : ranks_.sample(each, batch, call)) own.push_back(us);
    if (rival_ == nullptr) continue;
    for (double us : rival_->time(order)) theirs.push_back(us);
  }
  if (!theirs.empty()) rival_us = percentile(theirs, 0.5);
  return own;
}

void Bench::check(const Case& c, const Pointers& at, Row& row) {
  struct Found {
    uint64_t wrong = 0;
    double most_us = 0;
  } own;
  for (int i = 0; i < options_.checks; ++i) {
    Pattern pattern = make_pattern(c, ++seed_);
    fill_input(c, pattern, at);
    const auto start = std::chrono::steady_clock::now();
    call(c, at);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    own.most_us = std::max(own.most_us, took.count());
    own.wrong += count_wrong(c, pattern, at);
    // Nobody fills his buffers for the next call while a peer still reads them: the gather below, or this
    // one's.
    ranks_.must(plait_barrier(ranks_.comm(), nullptr, nullptr), "barrier");
  }
  row.wrong = 0;
  for (const Found& one : ranks_.gather(std::span<const Found>(&own, 1))) {
    *row.wrong += one.wrong;
    row.checked_most_us = std::max(row.checked_most_us, one.most_us);
  }
}

}  // namespace plait::perf
