#include "perf/nccl/report.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

namespace plait::nccl_drive {
namespace {

std::ptrdiff_t count(const std::vector<Row>& rows, Verdict verdict) {
  return std::count_if(rows.begin(), rows.end(),
                       [verdict](const Row& row) { return row.verdict == verdict; });
}

std::string failed_points(const std::vector<Row>& rows) {
  std::set<int> points;
  for (const Row& row : rows)
    if (row.verdict == Verdict::fail) points.insert(row.point);
  std::string all;
  for (const int point : points)
    all += (all.empty() ? "" : ", ") + std::to_string(point) + " (" + title(point) + ")";
  return all;
}

}  // namespace

Row row_of(const Named& check, const Status& status) {
  if (status.ok()) return {check.point, check.what, Verdict::pass, ""};
  const bool skipped = status.code() == Code::unsupported;
  return {check.point, check.what, skipped ? Verdict::not_exercised : Verdict::fail,
          std::string(status.text())};
}

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::fail:
      return "FAIL";
    default:
      return "not exercised";
  }
}

void print_row(const Row& row) {
  std::printf("%5d  %-13s  %s%s%s\n", row.point, name_of(row.verdict), row.what.c_str(),
              row.why.empty() ? "" : ": ", row.why.c_str());
  std::fflush(stdout);
}

bool good(const std::vector<Row>& rows, uint64_t bytes, bool moving) {
  return count(rows, Verdict::fail) == 0 && (bytes > 0 || !moving);
}

void print_summary(const std::vector<Row>& rows, uint64_t bytes, bool good) {
  std::printf("%td pass, %td FAIL, %td not exercised; %" PRIu64 " bytes moved and were right\n",
              count(rows, Verdict::pass), count(rows, Verdict::fail), count(rows, Verdict::not_exercised),
              bytes);
  if (const std::string points = failed_points(rows); !points.empty())
    std::printf("not kept: %s\n", points.c_str());
  else if (!good)
    std::printf("no byte moved, so nothing is shown: FAIL\n");
}

void print_json(const std::string& plugin, int version, const std::vector<Row>& rows, uint64_t bytes,
                bool good) {
  nlohmann::ordered_json json = {{"plugin", plugin},
                                 {"version", version},
                                 {"bytes", bytes},
                                 {"good", good},
                                 {"checks", nlohmann::ordered_json::array()}};
  for (const Row& row : rows)
    json["checks"].push_back(
        {{"point", row.point}, {"verdict", name_of(row.verdict)}, {"what", row.what}, {"why", row.why}});
  std::printf("%s\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

}  // namespace plait::nccl_drive
