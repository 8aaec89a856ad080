// plait-perf: measures and checks the collectives of plait.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "perf/bench.h"
#include "perf/coded.h"
#include "perf/options.h"
#include "perf/plot.h"

namespace plait::perf {
namespace {

int environment_number(const char* name, int standard) {
  const char* text = std::getenv(name);
  return text == nullptr ? standard : std::atoi(text);
}

plait_comm_config comm_config(const Options& options, const std::string& job, int thread) {
  plait_comm_config config{};
  config.struct_size = sizeof config;
  config.timeout_ms = int64_t(options.timeout_s * 1000);
  if (options.timeout_s > 0) config.timeout_ms = std::max<int64_t>(config.timeout_ms, 1);
  if (options.threads > 1) {  // else rank, size and job come from the environment
    config.rank = environment_number("RANK", 0) * options.threads + thread;
    config.size = environment_number("WORLD_SIZE", 1) * options.threads;
    config.job = job.c_str();
  }
  return config;
}

// Says what happened, once for each rank, whole lines even when threads fail together. A rank of -1 is not
// known yet.
void complain(int rank, const std::string& text) {
  const std::string who = rank < 0 ? "" : "rank " + std::to_string(rank) + ": ";
  std::fprintf(stderr, "plait-perf: %s%s\n", who.c_str(), text.c_str());
}

// Rank 0 ends the output. The JSON holds what was measured, also when a later row failed.
bool conclude(const Options& options, const Bench& bench, bool completed) {
  if (bench.rank() != 0) return completed;
  const bool timed = options.mode == Mode::time;
  if (completed && timed) print_foot(options, bench.rows());
  if (completed && !timed) print_comparison_foot(bench.comparisons());
  bool written = true;
  if (!options.json.empty())
    written = timed ? write_json(options.json, bench.rows(), options.rival)
                    : write_json(options.json, bench.comparisons());
  if (!options.plot.empty()) written = write_plot(options.plot, bench.rows(), options.rival) && written;
  return completed && written && total_wrong(bench.rows()) == 0;
}

// Rank 0 ends the output, as above.
bool conclude(const Options& options, const CodedBench& bench, bool completed) {
  if (bench.rank() != 0 || options.json.empty()) return completed;
  return write_json(options.json, bench.rows(), options) && completed;
}

template <class SomeBench>
bool run_bench(const Options& options, plait_comm* comm) {
  SomeBench bench(options, comm);
  bool completed = false;
  try {
    bench.run();
    completed = true;
  } catch (const std::exception& e) {
    complain(bench.rank(), e.what());
    plait_comm_abort(comm);  // the others need not wait for us
  }
  return conclude(options, bench, completed);
}

// One rank from its first to its last call. True when all went well.
bool run_rank(const Options& options, const std::string& job, int thread) {
  plait_comm_config config = comm_config(options, job, thread);
  plait_comm* comm = nullptr;
  if (plait_comm_create(&config, &comm) != PLAIT_OK) {
    const bool known = options.threads > 1 || std::getenv("RANK") != nullptr;  // else a launcher's business
    complain(known ? environment_number("RANK", 0) * options.threads + thread : -1,
             plait_last_error(nullptr));
    return false;
  }
  int32_t rank = 0, size = 0;
  plait_comm_rank(comm, &rank);
  plait_comm_size(comm, &size);
  if (rank == 0 && size == options.threads && std::getenv("WORLD_SIZE") == nullptr) {
    std::printf("# no launcher found: %d rank%s in this process alone; start more by: %s\n", size,
                size == 1 ? "" : "s", "plait-run -n 4 plait-perf ...");
  }
  const bool good =
      options.mode == Mode::coded ? run_bench<CodedBench>(options, comm) : run_bench<Bench>(options, comm);
  plait_status status = plait_comm_destroy(comm);
  if (good && status != PLAIT_OK)
    complain(rank, std::string("plait_comm_destroy: ") + plait_last_error(nullptr));
  return good && status == PLAIT_OK;
}

bool run_threads(const Options& options) {
  const char* name = std::getenv("PLAIT_JOB");
  std::string job = name != nullptr ? name : "plait-perf-" + std::to_string(getpid());
  std::vector<std::thread> threads;
  std::vector<char> good(static_cast<size_t>(options.threads));
  for (int i = 0; i < options.threads; ++i) {
    threads.emplace_back([&, i] { good[static_cast<size_t>(i)] = run_rank(options, job, i); });
  }
  for (std::thread& thread : threads) thread.join();
  return std::all_of(good.begin(), good.end(), [](char g) { return g != 0; });
}

int run(const Options& options) {
  if (plait_init(nullptr) != PLAIT_OK) {
    complain(environment_number("RANK", 0), plait_last_error(nullptr));
    return 1;
  }
  bool good = run_threads(options);
  if (plait_finalize() != PLAIT_OK) good = false;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace plait::perf

int main(int argc, char** argv) {
  plait::perf::Parsed parsed = plait::perf::parse(argc, argv);
  return parsed.exit_status ? *parsed.exit_status : plait::perf::run(parsed.options);
}
