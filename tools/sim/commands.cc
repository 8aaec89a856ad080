#include "tools/sim/commands.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "collectives/exchange/set.h"
#include "sim/report.h"
#include "tools/sim/measured.h"

namespace plait::simtool {

using namespace sim;

void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

namespace {

constexpr double kMostOfAll = 4e6;  // messages of a way that --all still runs

// Looks at the clock for one way: says how far it is where somebody watches, and ends what takes too long.
class Watch {
 public:
  Watch(const std::string& way, double patience)
      : way_(way), patience_(patience), work_(work_seconds()), begin_(now_ns()) {}
  ~Watch() {
    if (shown_) std::fprintf(stderr, "\r%*s\r", int(way_.size()) + 40, "");
  }
  bool look(const char* what, double share) {
    if (patience_ > 0 && work_seconds() - work_ > patience_) return false;
    const int64_t now = now_ns();
    if (now - std::max(last_, begin_ + kFirst) < kEvery || isatty(STDERR_FILENO) == 0) return true;
    last_ = now;
    shown_ = true;
    std::fprintf(stderr, "\r%s: %s %3.0f %%, %.0f s ", way_.c_str(), what, 100 * share,
                 double(now - begin_) * 1e-9);
    return true;
  }

 private:
  // What others have of the machine does not count.
  static double work_seconds() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
  }

  static constexpr int64_t kFirst = 1'800'000'000, kEvery = 200'000'000;
  const std::string way_;
  const double patience_, work_;
  const int64_t begin_;
  int64_t last_ = 0;
  bool shown_ = false;
};

Result<Report> run(const Options& o, const Way& way, double most_messages) {
  Watch watch(way.name, o.patience);
  const auto sizes = collectives::even_sizes(o.bytes, way.chunks, o.parameters.segment);
  const Cut cut(sizes);
  auto messages = count_messages(way, o.question.ranks, sizes.segments);
  if (!messages.ok()) return messages.status();
  if (*messages > most_messages) {
    char text[120];
    std::snprintf(text, sizeof text, "%.2g messages; more than %.0e are not simulated%s", *messages,
                  most_messages, o.all ? " here: name it with -A" : "");
    return Status(Code::unsupported, text);
  }
  Scripts scripts;
  PLAIT_TRY(make_scripts(way, o.question.ranks, cut, scripts,
                         [&](double share) { return watch.look("programs", share); }));
  sim::Options options;
  options.timeline = !o.trace.empty() || !o.svg.empty();
  options.progress = [&](double share) { return watch.look("run", share); };
  auto outcome = simulate(scripts, cut, *o.places.network, for_vector(o.parameters, o.bytes),
                          o.what_if.changes, options);
  if (!outcome.ok()) return outcome.status();
  Report report;
  report.room = o.room_text;
  report.way = way.name;
  report.question = o.question;
  report.bytes = o.bytes;
  report.segments = sizes.segments;
  report.parameters = o.parameters;
  report.what_if = o.what_if_texts;
  report.network = o.places.network.get();
  report.outcome = std::move(*outcome);
  report.scripts = scripts.distinct();
  find_crossing(report, scripts);
  return report;
}

// A row for each way as it comes; then the fastest.
Status compare(const Options& o, const std::vector<Way>& ways, double most_messages) {
  print(std::string(name_of(o.question.collective)) + " of " + size_text(o.bytes) + ", " +
        std::to_string(o.question.ranks) + " ranks in " + o.room_text + "\n");
  print(table_head());
  double best = 0;
  std::string first, why;
  for (const Way& way : ways) {
    auto report = run(o, way, most_messages);
    print(report.ok() ? table_row(*report) : table_gap(way.name, std::string(report.status().text())));
    std::fflush(stdout);
    if (!report.ok() || !report->outcome.stuck.empty()) continue;
    if (!first.empty() && report->outcome.seconds >= best) continue;
    best = report->outcome.seconds, first = way.name, why = verdict(*report);
  }
  if (first.empty()) return {Code::unsupported, "none of them could be run"};
  print("\nThe fastest is " + first + ", " + time_text(best) + ". " + why + "\n");
  return {};
}

Status write(const std::string& path, std::string (*text)(const Report&), const Report& report) {
  return path.empty() ? Status() : collectives::exchange::write_file(path, text(report));
}

}  // namespace

Status carry_out(Options& o) {
  if (!o.calibrate.empty() || !o.compare.empty()) return hold_against_measured(o);
  if (!o.what_if.cut.empty()) o.places.network = around(std::move(o.places.network), o.what_if.cut);
  if (o.all) return compare(o, all_ways(o.question), kMostOfAll);
  std::vector<Way> ways;
  for (const std::string& name : o.ways) {
    auto way = find_way(o.question, name);
    if (!way.ok()) return way.status();
    ways.push_back(std::move(*way));
  }
  if (ways.size() > 1) return compare(o, ways, double(collectives::kMostMessages));
  auto report = run(o, ways.front(), double(collectives::kMostMessages));
  if (!report.ok()) return report.status();
  if (o.json != "-" && o.trace != "-" && o.svg != "-") print(words_of(*report));
  PLAIT_TRY(write(o.json, to_json, *report));
  PLAIT_TRY(write(o.trace, to_trace, *report));
  return write(o.svg, to_svg, *report);
}

}  // namespace plait::simtool
