#include <algorithm>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "perf/pair/report.h"

namespace plait::perf::pair {
namespace {

using Json = nlohmann::ordered_json;

Json info_of(const Options& o, const Setup& s) {
  std::string test = title_of(o.tool);
  std::replace(test.begin(), test.end(), ' ', '_');
  Json info = {{"test", test},
               {"Device", s.device},
               {"Number_of_qps", o.qps},
               {"TX_depth", s.depth},
               {"Post_List", o.post_list},
               {"Bidirectional", o.bidirectional},
               {"Events", o.events},
               {"Data_validation", o.validate},
               {"Max_inline_data", s.inline_bytes},
               {"rdma_cm_QPs", o.verbs.rdma_cm},
               {"Data_ex_method", s.control},
               {"local_address", s.local},
               {"remote_address", s.remote}};
  if (o.tool.bandwidth()) info["BW_unit"] = o.gbits ? "Gb/sec" : "MiB/sec";
  return info;
}

void add_bandwidth(const Options& o, const BandwidthRow& b, Json& json) {
  const double unit = o.gbits ? 1e9 / 8 : 1 << 20;
  json.update({{"BW_peak", b.peak_Bps / unit},
               {"BW_average", b.average_Bps / unit},
               {"MsgRate", b.messages_ps / 1e6}});
}

void add_latency(const Options& o, const LatencyRow& l, Json& json) {
  if (o.seconds != 0) {
    json.update({{"t_avg", l.average}, {"tps_average", l.per_second}});
    return;
  }
  json.update({{"t_min", l.min},
               {"t_max", l.max},
               {"t_typical", l.typical},
               {"t_avg", l.average},
               {"t_stdev", l.deviation},
               {"percentile_99", l.p99},
               {"percentile_99.9", l.p999}});
}

Json result_of(const Options& o, const Row& row) {
  Json json = {{"MsgSize", row.bytes}, {"n_iterations", row.iterations}};
  o.tool.bandwidth() ? add_bandwidth(o, row.bandwidth, json) : add_latency(o, row.latency, json);
  json["wrong_bytes"] = o.validate ? Json(row.wrong) : Json();
  return json;
}

}  // namespace

// One result is an object, as perftest writes it; several are an array of them.
std::string json_of(const Options& options, const Setup& setup, const std::vector<Row>& rows) {
  Json results = Json::array();
  for (const Row& row : rows) results.push_back(result_of(options, row));
  if (options.sizes.size() == 1 && !options.infinite) results = results.empty() ? Json() : results.front();
  return Json{{"test_info", info_of(options, setup)}, {"results", results}}.dump(
             2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

Status write_json(const std::string& path, const Options& options, const Setup& setup,
                  const std::vector<Row>& rows) {
  std::ofstream file(path);
  file << json_of(options, setup, rows);
  file.close();
  return file ? Status() : Status::system(errno, "writing " + path);
}

}  // namespace plait::perf::pair
