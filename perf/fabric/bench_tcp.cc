// The engines of TCP side by side, or TCP with TLS and without: one process exchanges messages with 1, 8 and
// 64 others over loopback. An operation is a message to one of them and its answer. bench_tcp [ROUNDS]
// [PEERS,...] [tls]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "perf/fabric/crowd.h"

namespace plait::perf {
namespace {

using transport::tcp::EngineKind;

struct Row {
  const char* name;
  EngineKind engine;
  bool tls;
};
struct Contest {
  std::vector<Row> rows;
  std::vector<size_t> sizes;
};
const Contest kEngines = {{{"polled", EngineKind::polled, false}, {"io_uring", EngineKind::uring, false}},
                          {64, size_t{64} << 10}};
const Contest kTls = {{{"plain", EngineKind::polled, false}, {"tls", EngineKind::polled, true}},
                      {8, 4096, size_t{64} << 10, size_t{1} << 20}};

transport::tcp::Options options_of(const Row& row) {
  transport::tcp::Options options;
  options.engine = row.engine;
  if (row.tls)
    options.tls = std::make_shared<transport::tcp::TlsKey>();  // of zeroes: it is alike on both sides
  return options;
}
constexpr double kSeconds = 0.25;  // of one round of one contestant

double median(std::vector<double> all) {
  std::ranges::sort(all);
  return all[all.size() / 2];
}

struct Results {
  std::vector<double> us, cpu_us, burst_calls, burst_cpu_us;
};

void print(const char* name, int peers, size_t bytes, Results& r) {
  std::printf("%-9s %5d %8zu %10.2f %10.2f %10.2f %12.2f %12.2f\n", name, peers, bytes,
              std::ranges::min(r.us), median(r.us), median(r.cpu_us), median(r.burst_calls),
              median(r.burst_cpu_us));
  std::fflush(stdout);
}

void compare(const Contest& contest, int peers, int rounds) {
  std::vector<std::unique_ptr<Crowd>> crowds;
  for (const Row& row : contest.rows) crowds.push_back(std::make_unique<Crowd>(peers, options_of(row)));
  for (const size_t bytes : contest.sizes) {
    std::vector<Results> results(contest.rows.size());
    std::vector<int> times;
    for (auto& crowd : crowds) {
      crowd->run(bytes, 20);
      times.push_back(std::max(1, int(kSeconds / (crowd->run(bytes, 20).us * peers / 1e6))));
    }
    for (int round = 0; round < rounds; ++round) {
      for (size_t i = 0; i < crowds.size(); ++i) {
        const size_t which = (i + size_t(round)) % crowds.size();
        const Cost cost = crowds[which]->run(bytes, times[which]);
        results[which].us.push_back(cost.us);
        results[which].cpu_us.push_back(cost.cpu_us);
        const int pause_us = 200 + peers * int(bytes > 4096 ? 80 : 25);
        const Cost burst = crowds[which]->run(bytes, std::max(1, int(kSeconds * 5e5 / pause_us)), pause_us);
        results[which].burst_calls.push_back(burst.calls);
        results[which].burst_cpu_us.push_back(burst.cpu_us);
      }
    }
    for (size_t i = 0; i < crowds.size(); ++i) print(contest.rows[i].name, peers, bytes, results[i]);
  }
}

}  // namespace
}  // namespace plait::perf

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 9;
  const std::string list = argc > 2 ? argv[2] : "1,8,64";
  const auto& contest = argc > 3 && std::string(argv[3]) == "tls" ? plait::perf::kTls : plait::perf::kEngines;
  std::printf("%-9s %5s %8s %10s %10s %10s %12s %12s\n", "engine", "peers", "bytes", "us least", "us median",
              "CPU us, all", "burst: calls", "burst: CPU us");
  for (size_t at = 0; at < list.size(); at = std::min(list.find(',', at), list.size() - 1) + 1)
    plait::perf::compare(contest, std::clamp(std::atoi(list.c_str() + at), 1, 256), rounds);
  return 0;
}
