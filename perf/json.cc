#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "perf/row.h"

namespace plait::perf {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Row& r) {
  bool reduces = r.collective->reduces;
  return {{"collective", r.collective->name},
          {"ranks", r.ranks},
          {"dtype", r.collective->moves_data() ? Json(r.dtype->name) : Json()},
          {"op", reduces ? Json(r.op->name) : Json()},
          {"root", r.collective->has_root ? Json(r.root) : Json()},
          {"bytes", r.bytes},
          {"count", r.count},
          {"in_place", r.in_place},
          {"algorithm", r.algorithm},
          {"transport", r.transport},
          {"iterations", r.iterations},
          {"time_us_median", r.median_us},
          {"time_us_p99", r.p99_us},
          {"algbw_GBps", r.algorithm_GBps()},
          {"busbw_GBps", r.bus_GBps()},
          {"wrong", r.wrong ? Json(*r.wrong) : Json()}};
}

}  // namespace

bool write_json(const std::string& path, const std::vector<Row>& rows) {
  std::ofstream file(path);
  file << "[";
  for (size_t i = 0; i < rows.size(); ++i) file << (i == 0 ? "\n  " : ",\n  ") << to_json(rows[i]).dump();
  file << "\n]\n";
  file.close();
  if (!file) std::fprintf(stderr, "plait-perf: cannot write %s: %s\n", path.c_str(), std::strerror(errno));
  return bool(file);
}

}  // namespace plait::perf
