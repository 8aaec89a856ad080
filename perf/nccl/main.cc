// nccl-net-drive: see options.cc.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "perf/nccl/guarded.h"
#include "perf/nccl/options.h"
#include "perf/nccl/report.h"
#include "perf/nccl/script.h"

namespace plait::nccl_drive {
namespace {

constexpr double kWaits = 5;                  // a check may last as long as so many waits
constexpr double kMostMeasuring = 24 * 3600;  // s, however many sizes and rounds

int list() {
  for (const Named& check : all_checks())
    std::printf("%5d  %-24s  %s\n", check.point, title(check.point), check.what);
  return 0;
}

// The checks that are asked for, and those that they stand on. What stands on something that failed shows
// nothing.
class Contract {
 public:
  explicit Contract(const Options& o) : o_(o) {}

  void run() {
    for (const Named& named : all_checks()) {
      const bool asked =
          o_.points.empty() || std::count(o_.points.begin(), o_.points.end(), named.point) != 0;
      if (!asked && named.gives == Needs::nothing) continue;
      const Row row = run(named);
      if (!asked && row.verdict == Verdict::pass) continue;
      rows.push_back(row);
      if (!o_.json) print_row(row);
    }
  }

  std::vector<Row> rows;
  uint64_t bytes = 0;

 private:
  Row run(const Named& named) {
    if (named.needs > stands_) return row_of(named, not_exercised("this failed: " + without_));
    const Ended ended = guarded(o_.job.seconds, o_.job.seconds * kWaits, [&] { return named.check(o_.job); });
    bytes += ended.bytes;
    if (named.gives > Needs::nothing && ended.status.ok()) stands_ = named.gives;
    if (named.gives > Needs::nothing && !ended.status.ok()) without_ = named.what;
    return row_of(named, ended.status);
  }

  const Options& o_;
  Needs stands_ = Needs::nothing;
  std::string without_;  // what failed that others stand on
};

// Loads the plugin once, in a process of its own, to say what is driven, or that nothing is.
Status look(const Job& job, int* version) {
  const Ended ended = guarded(job.seconds, job.seconds, [&]() -> Status {
    auto net = open_net(job.plugin, job.version);
    if (!net.ok()) return net.status();
    where().bytes = uint64_t((*net)->version());
    return Status();
  });
  *version = int(ended.bytes);
  return ended.status;
}

int check(const Options& o) {
  int version = 0;
  const Status found = look(o.job, &version);
  if (!found.ok()) {
    std::fprintf(stderr, "nccl-net-drive: %s\n", std::string(found.text()).c_str());
    return 2;
  }
  if (!o.json)
    std::printf("%s, net version %d\n%5s  %-13s  %s\n", o.job.plugin.c_str(), version, "point", "verdict",
                "what");
  Contract contract(o);
  contract.run();
  const bool well = good(contract.rows, contract.bytes, o.points.empty());
  if (o.json)
    print_json(o.job.plugin, version, contract.rows, contract.bytes, well);
  else
    print_summary(contract.rows, contract.bytes, well);
  return well ? 0 : 1;
}

int script(const Options& o) {
  const Scripts scripts = run_scripts(o.job, o.seed, o.count);
  const std::string why(scripts.status.ok() ? "" : scripts.status.text());
  const bool good = scripts.status.ok() && scripts.bytes > 0;
  if (o.json) {
    const nlohmann::ordered_json json = {
        {"plugin", o.job.plugin}, {"first", o.seed}, {"count", o.count},     {"done", scripts.done},
        {"bytes", scripts.bytes}, {"good", good},    {"seed", scripts.seed}, {"why", why}};
    std::printf("%s\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
  } else if (!scripts.status.ok()) {
    std::printf("FAIL: the script of seed %" PRIu64 ", after %" PRIu64 " others: %s\nAgain: --script %" PRIu64
                "\n",
                scripts.seed, scripts.done, why.c_str(), scripts.seed);
  } else {
    std::printf("%" PRIu64 " scripts from seed %" PRIu64 ": %s; %" PRIu64 " bytes moved and were right\n",
                scripts.done, o.seed, good ? "pass" : "FAIL, nothing moved", scripts.bytes);
  }
  return good ? 0 : 1;
}

void print_head(const Measure& m) {
  std::printf("%10s %10s", "bytes", "us");
  if (m.plain) std::printf(" %10s %7s", "plain us", "ratio");
  for (const size_t window : m.windows) {
    std::printf("  GB/s w=%-2zu", window);
    if (m.plain) std::printf(" %7s %6s", "plain", "ratio");
  }
  std::printf("\n");
}

void print_figures(const Measure& m, const Figures& f) {
  std::printf("%10zu %10.2f", f.bytes, f.half_us);
  if (m.plain) std::printf(" %10.2f %7.2f", f.plain_half_us, f.half_ratio);
  for (size_t i = 0; i < f.gbps.size(); ++i) {
    std::printf("  %9.3f", f.gbps[i]);
    if (m.plain) std::printf(" %7.3f %6.2f", f.plain_gbps[i], f.ratios[i]);
  }
  std::printf("\n");
  std::fflush(stdout);
}

nlohmann::ordered_json json_of(const Measure& m, const Figures& f) {
  nlohmann::ordered_json json = {{"bytes", f.bytes}, {"half_us", f.half_us}};
  for (size_t i = 0; i < f.gbps.size(); ++i) {
    nlohmann::ordered_json one = {{"window", m.windows[i]}, {"gb_per_s", f.gbps[i]}};
    if (m.plain) one["plain"] = {{"gb_per_s", f.plain_gbps[i]}, {"ratio", f.ratios[i]}};
    json["streams"].push_back(one);
  }
  if (m.plain) json["plain"] = {{"half_us", f.plain_half_us}, {"ratio", f.half_ratio}};
  return json;
}

void print_measured(const Options& o) {
  std::printf("%s: p50 half round trip; bandwidth of %zu comm%s; medians of %d rounds%s\n",
              o.job.plugin.c_str(), o.measure.comms, o.measure.comms == 1 ? "" : "s", o.measure.rounds,
              o.measure.plain ? "; ratio above 1: faster than a plain socket" : "");
  print_head(o.measure);
  std::fflush(stdout);
}

// In a process of its own too: a plugin may hang.
int measure_all(const Options& o) {
  if (!o.json) print_measured(o);
  const auto work = [&o]() -> Status {
    auto rows = nlohmann::ordered_json::array();
    const auto tell = [&](const Figures& figures) {
      if (o.json)
        rows.push_back(json_of(o.measure, figures));
      else
        print_figures(o.measure, figures);
    };
    PLAIT_TRY(measure(o.job, o.measure, tell));
    if (o.json) std::printf("%s\n", rows.dump(2).c_str());
    return Status();
  };
  const Status status = guarded(o.job.seconds, kMostMeasuring, work).status;
  if (!status.ok()) std::fprintf(stderr, "nccl-net-drive: %s\n", std::string(status.text()).c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace plait::nccl_drive

int main(int argc, char** argv) {
  using namespace plait::nccl_drive;
  const Parsed parsed = parse(argc, argv);
  if (parsed.exit_status) return *parsed.exit_status;
  switch (parsed.options.mode) {
    case Mode::list:
      return list();
    case Mode::script:
      return script(parsed.options);
    case Mode::measure:
      return measure_all(parsed.options);
    default:
      return check(parsed.options);
  }
}
