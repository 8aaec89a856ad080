#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "perf/coded.h"
#include "perf/regret.h"
#include "perf/row.h"

namespace plait::perf {
namespace {

using Json = nlohmann::ordered_json;

// What a Row and a Case say alike.
template <class Call>
Json call_of(const Call& c, size_t bytes) {
  return {{"collective", c.collective->name},
          {"ranks", c.ranks},
          {"dtype", c.collective->moves_data() ? Json(c.dtype->name) : Json()},
          {"op", c.collective->reduces ? Json(c.op->name) : Json()},
          {"root", c.collective->has_root ? Json(c.root) : Json()},
          {"bytes", bytes},
          {"count", c.count},
          {"in_place", c.in_place}};
}

Json to_json(const Row& r, const std::string& rival) {
  Json json = call_of(r, r.bytes);
  json.update({{"algorithm", r.algorithm},
               {"transport", r.transport},
               {"iterations", r.iterations},
               {"time_us_median", r.median_us},
               {"time_us_p99", r.calls.p99_us},
               {"time_us_min", r.calls.least_us},
               {"time_us_max", r.calls.most_us},
               {"time_cv", r.calls.variation},
               {"algbw_GBps", r.algorithm_GBps()},
               {"busbw_GBps", r.bus_GBps()},
               {"wrong", r.wrong ? Json(*r.wrong) : Json()},
               {"checked_us_max", r.wrong ? Json(r.checked_most_us) : Json()}});
  if (rival.empty()) return json;
  json.update({{"rival", rival},
               {"rival_us_median", r.rival_us ? Json(*r.rival_us) : Json()},
               {"ratio", r.ratio() ? Json(*r.ratio()) : Json()}});
  return json;
}

Json known(double us) { return us < 0 ? Json() : Json(us); }

Json to_json(const Comparison& c) {
  const Standings& s = c.standings;
  Json json = call_of(c.what, c.what.bytes());
  json.update({{"transport", c.transport},
               {"chosen", s.chosen().algorithm},
               {"chosen_us", s.choice().time_us()},
               {"best", s.best().algorithm},
               {"best_us", s.best().time_us()},
               {"regret", s.regret()}});
  Json& list = json["candidates"] = Json::array();
  for (size_t i = 1; i < s.entrants.size(); ++i) {
    const Entrant& e = s.entrants[i];
    list.push_back({{"algorithm", e.algorithm},
                    {"predicted_us", known(e.predicted_us)},
                    {"simulated", e.simulated},
                    {"tuned_us", known(e.tuned_us)},
                    {"measured_us", e.time_us()},
                    {"rounds", e.rounds_us.size()}});
  }
  return json;
}

bool write(const std::string& path, const std::vector<Json>& rows) {
  std::ofstream file(path);
  file << "[";
  for (size_t i = 0; i < rows.size(); ++i) file << (i == 0 ? "\n  " : ",\n  ") << rows[i].dump();
  file << "\n]\n";
  file.close();
  if (!file) std::fprintf(stderr, "plait-perf: cannot write %s: %s\n", path.c_str(), std::strerror(errno));
  return bool(file);
}

}  // namespace

bool write_json(const std::string& path, const std::vector<Row>& rows, const std::string& rival) {
  std::vector<Json> all;
  for (const Row& row : rows) all.push_back(to_json(row, rival));
  return write(path, all);
}
bool write_json(const std::string& path, const std::vector<CodedRow>& rows, const Options& options) {
  std::vector<Json> all;
  for (const CodedRow& r : rows) {
    all.push_back({{"collective", "allreduce"},
                   {"dtype", "float32"},
                   {"op", options.ops[0]->name},
                   {"codec", options.codec},
                   {"bytes", r.bytes},
                   {"count", r.count},
                   {"algorithm", r.algorithm},
                   {"time_us_median", r.coded_us},
                   {"plain_us_median", r.plain_us ? Json(*r.plain_us) : Json()},
                   {"speedup", r.speedup() ? Json(*r.speedup()) : Json()},
                   {"encoded", r.encoded},
                   {"wire_ratio", r.ratio},
                   {"error", r.error},
                   {"error_most", r.most}});
  }
  return write(path, all);
}
bool write_json(const std::string& path, const std::vector<Comparison>& rows) {
  std::vector<Json> all;
  for (const Comparison& row : rows) all.push_back(to_json(row));
  return write(path, all);
}

}  // namespace plait::perf
