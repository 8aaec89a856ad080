// plait-topo: the map of a machine or a room, and answers about it.
#include <cstdio>
#include <functional>
#include <string>

#include "documents/text_file.h"
#include "tools/topo/options.h"
#include "topology/readers.h"
#include "topology/report.h"
#include "topology/rings.h"
#include "topology/show.h"

namespace plait::topo {
namespace {

using namespace topology;

Result<Map> source(const Options& o) {
  if (!o.room.empty()) return read_map(o.room, "--room");
  if (!o.file.empty()) return load_map(o.file);
  Result<Graph> machine = read_this_machine();
  if (!machine.ok()) return machine.status();
  Map map;
  map.machine = std::move(*machine);
  return map;
}

Status write(const std::string& path, const Result<std::string>& text) {
  if (path.empty()) return {};
  return text.ok() ? documents::write_file(path, *text) : text.status();
}

Status show(const Options& o, const Map& map) {
  if (map.room && o.svg.empty() && o.dot.empty() && !o.json) std::puts(describe(*map.room).c_str());
  const auto graph = map.graph();
  if (!graph.ok()) return graph.status();
  if (o.json) return documents::write_file("-", to_json(*graph));
  if (o.svg.empty() && o.dot.empty()) return documents::write_file("-", show_tree(*graph));
  if (!o.dot.empty()) PLAIT_TRY(write(o.dot, to_dot(*graph)));
  // A regular shape alone says more as dots where the chips are.
  if (!o.svg.empty() && map.room && map.room->nics_per_host == 0 && !map.room->factors.empty()) {
    const auto fabric = map.fabric();
    return fabric.ok() ? write(o.svg, to_svg(*fabric, {}, {})) : fabric.status();
  }
  return o.svg.empty() ? Status() : write(o.svg, to_svg(*graph));
}

Status show_rings(const Options& o, const Map& map) {
  if (o.svg.empty()) return documents::write_file("-", report_rings(map));
  const auto fabric = map.fabric();
  return fabric.ok() ? write(o.svg, to_svg(*fabric, rings(*fabric).cycles, {})) : fabric.status();
}

Status find_place(const Options& o, const Map& map, int& exit_status) {
  const auto job = parse_job(o.shape, o.chips);
  if (!job.ok()) return job.status();
  const auto fabric = map.fabric();
  if (!fabric.ok()) return fabric.status();
  const Placement p = place(*fabric, *job);
  exit_status = p.found ? 0 : 2;
  if (!o.svg.empty()) PLAIT_TRY(write(o.svg, to_svg(*fabric, {}, p.chips)));
  if (o.svg == "-") return {};
  return documents::write_file("-", o.json ? to_json(*job, p) : report_place(*fabric, *job, p));
}

Status carry_out(const Options& o, int& exit_status) {
  const auto map = source(o);
  if (!map.ok()) return map.status();
  if (o.command == "show") return show(o, *map);
  if (o.command == "rings") return show_rings(o, *map);
  if (o.command == "place") return find_place(o, *map, exit_status);
  std::string text;
  if (o.command == "levels") text = report_levels(*map);
  if (o.command == "nics") text = report_nics(*map);
  if (o.command == "trees") text = report_trees(*map);
  if (o.command == "dims") text = report_dimensions(*map);
  return documents::write_file("-", text);
}

}  // namespace
}  // namespace plait::topo

int main(int argc, char** argv) {
  const plait::topo::Parsed parsed = plait::topo::parse(argc, argv);
  if (parsed.exit_status) return *parsed.exit_status;
  int exit_status = 0;
  const plait::Status status = plait::topo::carry_out(parsed.options, exit_status);
  if (status.ok()) return exit_status;
  std::fprintf(stderr, "plait-topo: %s\n", std::string(status.text()).c_str());
  return 1;
}
