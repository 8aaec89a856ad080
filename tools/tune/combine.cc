#include "tools/tune/combine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <vector>

#include "tools/tune/place.h"

namespace plait::tune {

using collectives::Tuning;
using collectives::TuningCase;

namespace {

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const size_t half = times.size() / 2;
  return times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2;
}

}  // namespace

Tuning medians(std::span<const Tuning> all) {
  std::map<TuningCase, std::map<uint64_t, std::map<std::string, std::vector<double>>>> times;
  Tuning made;
  made.machine = all[0].machine;
  for (const Tuning& one : all) {
    const uint32_t hosts = std::max(made.machine.hosts, one.machine.hosts);
    if (one.machine.date > made.machine.date) made.machine = one.machine;
    made.machine.hosts = hosts;
    for (const auto& [what, rows] : one.cases) {
      for (const auto& row : rows) {
        for (const auto& [name, seconds] : row.seconds) times[what][row.bytes][name].push_back(seconds);
      }
    }
  }
  for (const auto& [what, sizes] : times) {
    for (const auto& [bytes, algorithms] : sizes) {
      collectives::TuningRow row{.bytes = bytes};
      for (const auto& [name, seconds] : algorithms) row.seconds[name] = median(seconds);
      made.cases[what].push_back(std::move(row));
    }
  }
  return made;
}

Status combine(std::span<const std::string> files, const std::string& out) {
  std::vector<Tuning> all;
  for (const std::string& file : files) {
    auto one = collectives::read_tuning(file);
    if (!one.ok()) return one.status();
    if (!all.empty()) {
      const Status same = same_kind(all[0].machine, one->machine);
      if (!same.ok()) return {Code::invalid, file + ": " + std::string(same.text()) + ", as " + files[0]};
    }
    all.push_back(std::move(one).value());
  }
  const Tuning made = medians(all);
  PLAIT_TRY(write_file(out, made));
  std::printf("# wrote %s of %zu files; cases: %zu\n", out.c_str(), files.size(), made.cases.size());
  return {};
}

Status merge(const std::string& file, Tuning& tuning) {
  if (::access(file.c_str(), F_OK) != 0) return {};
  auto before = collectives::read_tuning(file);
  if (!before.ok()) return before.status();
  const Status same = same_kind(tuning.machine, before->machine);
  if (!same.ok()) return {Code::invalid, file + " was " + std::string(same.text()) + "; give another file"};
  tuning.machine.hosts = std::max(tuning.machine.hosts, before->machine.hosts);
  tuning.cases.merge(before->cases);
  return {};
}

}  // namespace plait::tune
