#include <cinttypes>
#include <cstdio>

#include "perf/regret.h"
#include "perf/row.h"

namespace plait::perf {

std::string number(double value) {
  char text[32];
  int decimals = value < 10 ? 3 : value < 100 ? 2 : value < 10000 ? 1 : 0;
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

namespace {

std::string bytes_text(size_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && bytes % 1024 == 0 && unit < 4; ++unit) bytes /= 1024;
  return std::to_string(bytes) + " " + units[unit];
}

template <class T>
std::string names(const std::vector<const T*>& all) {
  std::string text;
  for (const T* one : all) text += (text.empty() ? "" : ",") + std::string(one->name);
  return text;
}

const char* whose_name(Whose whose) {
  constexpr const char* kNames[] = {"of rank 0", "mean of ranks", "of the fastest rank",
                                    "of the slowest rank"};
  return kNames[size_t(whose)];
}

void print_members(const std::vector<Member>& members, const std::string& transport) {
  constexpr size_t kShown = 16;
  for (size_t i = 0; i < members.size() && i < kShown; ++i) {
    const Member& m = members[i];
    std::printf("#   rank %2d  pid %6d  on %s  %s\n", m.rank, m.pid, m.host, transport.c_str());
  }
  if (members.size() > kShown) std::printf("#   and %zu more\n", members.size() - kShown);
}

std::string known(std::optional<double> value) { return value ? number(*value) : "-"; }

void print_placement(const Options& o, const Row& r) {
  std::string wrong = r.wrong ? std::to_string(*r.wrong) : "N/A";
  std::printf("  %8s %7s %7s %7s", number(r.median_us).c_str(), number(r.algorithm_GBps()).c_str(),
              number(r.bus_GBps()).c_str(), wrong.c_str());
  if (!o.rival.empty()) std::printf(" %8s %6s", known(r.rival_us).c_str(), known(r.ratio()).c_str());
}

void print_calls(const Spread& s) {
  std::printf("  %8s %8s %8s %5.0f", number(s.least_us).c_str(), number(s.most_us).c_str(),
              number(s.p99_us).c_str(), 100 * s.variation);
}

// A line of the head: once for each placement, behind what stands before them.
void print_columns(const char* before, const std::string& placement, const char* calls) {
  std::printf("# %s%s%s", before, placement.c_str(), placement.c_str());
  if (calls != nullptr) std::printf("%s%s", calls, calls);
  std::printf("\n");
}

// Of at most 8 letters: of the long ones there is an alias that other tools print.
const char* short_name(const Dtype& dtype) {
  return std::string_view(dtype.name).size() > 8 ? dtype.alias : dtype.name;
}

}  // namespace

void print_head(const Options& o, const std::vector<Member>& members, const std::string& transport) {
  int v = plait_version();
  std::printf("# plait-perf %d.%d.%d, libplait %d.%d.%d\n", PLAIT_VERSION_MAJOR, PLAIT_VERSION_MINOR,
              PLAIT_VERSION_PATCH, v / 10000, v / 100 % 100, v % 100);
  std::printf("# %s of %zu rank%s", o.collective->name, members.size(), members.size() == 1 ? "" : "s");
  if (o.collective->moves_data()) {
    std::printf(", %s to %s, %s", bytes_text(o.sizes.front()).c_str(), bytes_text(o.sizes.back()).c_str(),
                names(o.dtypes).c_str());
  }
  if (o.collective->reduces) std::printf(", %s", names(o.ops).c_str());
  std::printf("\n");
  const char* odd = o.mixed_memory ? " (odd ranks: plain)" : "";
  if (o.mode == Mode::time) {
    std::printf("# %d iterations after %d to warm up, %d checked; memory: %s%s; algorithm: %s; time: %s\n",
                o.iterations, o.warmup, o.checks, memory_name(o.memory), odd,
                o.algorithm.empty() ? "chosen by plait" : o.algorithm.c_str(), whose_name(o.whose));
  } else {
    std::printf("# %d rounds, not checked; memory: %s%s; algorithms take turns\n", o.iterations,
                memory_name(o.memory), odd);
  }
  print_members(members, transport);
  if (o.mode != Mode::time) return print_comparison_head(o);
  const bool calls = o.iterations_shown, rival = !o.rival.empty();
  const int width = rival ? 48 : 32;
  std::printf("#\n# %42s  %*s  %*s", "", width, "out-of-place          ", width, "in-place            ");
  if (calls) std::printf("  %32s  %32s", "calls, out-of-place     ", "calls, in-place       ");
  std::printf("\n");
  char names[32] = "", units[] = "     (us)       ";
  std::snprintf(names, sizeof names, " %8.8s  ratio", o.rival.c_str());
  if (!rival) names[0] = units[0] = 0;
  print_columns("      size      count     type  redop root",
                std::string("      time   algbw   busbw  #wrong") + names,
                calls ? "       min      max      p99    cv" : nullptr);
  print_columns("       (B) (elements)                     ",
                std::string("      (us)  (GB/s)  (GB/s)        ") + units,
                calls ? "      (us)     (us)     (us)   (%)" : nullptr);
}

void print_row(const Options& o, const Row& r, const Row* in_place) {
  std::printf("  %10zu %10zu %8s %6s %4d", r.bytes, r.count,
              r.collective->moves_data() ? short_name(*r.dtype) : "none",
              r.collective->reduces ? r.op->name : "none", r.collective->has_root ? r.root : -1);
  print_placement(o, r);
  if (in_place != nullptr) print_placement(o, *in_place);
  if (o.iterations_shown) print_calls(r.calls);
  if (o.iterations_shown && in_place != nullptr) print_calls(in_place->calls);
  std::printf("\n");
  std::fflush(stdout);
}

uint64_t total_wrong(const std::vector<Row>& rows) {
  uint64_t wrong = 0;
  for (const Row& r : rows) wrong += r.wrong.value_or(0);
  return wrong;
}

void print_ratios(const Options& o, const std::vector<Row>& rows) {
  std::vector<double> ratios;
  for (const Row& r : rows) {
    if (r.ratio()) ratios.push_back(*r.ratio());
  }
  if (ratios.empty()) return;
  const double median = percentile(ratios, 0.5);  // sorts
  std::printf("# %s's time by plait's   : median %s, least %s, most %s\n", o.rival.c_str(),
              number(median).c_str(), number(ratios.front()).c_str(), number(ratios.back()).c_str());
}

void print_foot(const Options& o, const std::vector<Row>& rows) {
  double sum = 0;
  for (const Row& r : rows) sum += r.bus_GBps();
  uint64_t wrong = total_wrong(rows);
  std::printf("# Out of bounds values : %" PRIu64 " %s\n", wrong, wrong == 0 ? "OK" : "FAILED");
  std::printf("# Avg bus bandwidth    : %s\n", number(rows.empty() ? 0 : sum / double(rows.size())).c_str());
  if (!o.rival.empty()) print_ratios(o, rows);
}

}  // namespace plait::perf
