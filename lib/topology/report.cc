#include "topology/report.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>

#include "documents/text_file.h"
#include "topology/icl.h"
#include "topology/levels.h"
#include "topology/readers.h"
#include "topology/rings.h"
#include "topology/trees.h"
#include "topology/units.h"

namespace plait::topology {
namespace {

constexpr size_t kMostFileBytes = size_t{64} << 20;
constexpr size_t kMostShown = 64;

std::string no(const Status& status) { return std::string(status.text()) + "\n"; }

std::string_view plural(uint64_t n) { return n == 1 ? "" : "s"; }

// A lattice as rows of chips, with the job's places in its order.
std::string grid(const Fabric& f, const std::vector<uint32_t>& chips) {
  const auto& factors = f.lattice().factors();
  if (factors.size() != 2 || f.chips() > 1024 || factors[1].size > 32) return {};
  const size_t width = chips.empty() ? 1 : std::to_string(chips.size() - 1).size();
  std::string text;
  for (uint32_t c = 0; c < f.chips(); c++) {
    const auto at = std::find(chips.begin(), chips.end(), c);
    std::string mark = !f.up(c) ? "x" : f.is_free(c) ? "." : "#";
    if (at != chips.end()) mark = std::to_string(at - chips.begin());
    text += fmt::format("{:>{}}{}", mark, width + 1, (c + 1) % factors[1].size == 0 ? "\n" : "");
  }
  return text;
}

}  // namespace

Result<Graph> Map::graph() const {
  if (machine) return *machine;
  return expand(*room);
}
Result<Fabric> Map::fabric() const { return room ? fabric_of(*room) : fabric_of(*machine); }

Result<Map> read_map(std::string_view text, const std::string& file) {
  const size_t start = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  Map map;
  if (start == std::string_view::npos || text[start] != '<') {
    Result<Room> room = parse_room(text, file);
    if (!room.ok()) return room.status();
    map.room = std::move(*room);
    return map;
  }
  // hwloc's root is <topology>, NCCL's <system>; whichever comes first.
  const size_t hwloc = text.find("<topology"), nccl = text.find("<system");
  Result<Graph> graph = hwloc < nccl ? read_hwloc_xml(text, file) : read_nccl_xml(text, file);
  if (!graph.ok()) return graph.status();
  map.machine = std::move(*graph);
  return map;
}

Result<Map> load_map(const std::string& path) {
  if (path.starts_with(kIclPrefix)) {
    auto pod = read_icl(path.substr(kIclPrefix.size()));
    if (!pod.ok()) return pod.status();
    Map map;
    map.machine = std::move(*pod);
    return map;
  }
  const auto text = documents::read_file(path, kMostFileBytes);
  if (!text.ok()) return text.status();
  return read_map(*text, path);
}

std::string report_levels(const Map& map) {
  const auto graph = map.graph();
  if (!graph.ok()) return no(graph.status());
  const bool chips = !graph->of(Kind::chip).empty();
  const std::string_view place = chips ? "chip" : "core";
  std::string text;
  uint32_t depth = 0;
  for (const Level& l : levels(*graph)) {
    const std::string size =
        l.smallest == l.largest ? std::to_string(l.largest) : fmt::format("{} to {}", l.smallest, l.largest);
    text += fmt::format("{}  {:<10}  {} group{} of {} {}{}", depth++, name_of(l.near), l.groups,
                        plural(l.groups), size, place, plural(l.largest));
    if (l.bytes_per_s > 0) text += fmt::format(", {} each way", show_rate(l.bytes_per_s));
    if (l.latency_s > 0) text += ", " + show_latency(l.latency_s);
    text += '\n';
  }
  return text.empty() ? fmt::format("no levels: {} {}{}\n", graph->of(chips ? Kind::chip : Kind::core).size(),
                                    place, plural(graph->of(chips ? Kind::chip : Kind::core).size()))
                      : text;
}

std::string report_nics(const Map& map) {
  const auto graph = map.graph();
  if (!graph.ok()) return no(graph.status());
  const Graph& g = *graph;
  if (g.of(Kind::nic).empty()) return "no NICs\n";
  const auto places = g.of(Kind::chip).empty() ? g.of(Kind::core) : g.of(Kind::chip);
  const std::vector<Way> all = rails(g);
  std::string text;
  for (size_t i = 0; i < places.size() && i < kMostShown; i++) {
    const Way& w = all[i];
    if (w.nic == kNone) {
      text += fmt::format("{}: its host has no NIC that works\n", g.node(places[i]).name);
      continue;
    }
    text += fmt::format("{} -> {}: {}, {} hops, {}", g.node(places[i]).name, g.node(w.nic).name,
                        name_of(w.path), w.hops, show_rate(w.bytes_per_s));
    size_t alike = 0;
    for (const Way& o : nics_of(g, places[i]))
      alike += o.path == w.path && o.bytes_per_s == w.bytes_per_s && o.hops == w.hops ? 1 : 0;
    text += alike > 1 ? fmt::format(", one of {} as near\n", alike) : "\n";
  }
  if (places.size() > kMostShown) text += fmt::format("... and {} more\n", places.size() - kMostShown);
  return text;
}

std::string report_rings(const Map& map) {
  const auto fabric = map.fabric();
  if (!fabric.ok()) return no(fabric.status());
  const Rings r = rings(*fabric);
  std::string text = fmt::format("rings that share no link: {}; {}\n", r.cycles.size(),
                                 r.cycles.size() == r.bound ? "no more can be"
                                 : r.proven                 ? fmt::format("of at most {}, proven", r.bound)
                                            : fmt::format("of at most {}, not proven", r.bound));
  if (!r.why.empty()) text += "  " + r.why + "\n";
  for (const Cycle& c : r.cycles)
    text += c.size() > 256 ? fmt::format("  {} chips from {} on\n", c.size(), c[0])
                           : fmt::format("  {}\n", fmt::join(c, " "));
  return text;
}

std::string report_trees(const Map& map) {
  const auto fabric = map.fabric();
  if (!fabric.ok()) return no(fabric.status());
  const DoubleTree t = double_tree(*fabric);
  if (t.trees.empty()) return "no trees: " + t.why + "\n";
  std::string text = fmt::format("trees: 2, links that both use: {}\n", t.shared);
  if (!t.why.empty()) text += "  " + t.why + "\n";
  for (const Tree& tree : t.trees) {
    text += fmt::format("  root {}, depth {}", tree.root, tree.depth);
    std::map<uint32_t, std::vector<uint32_t>> children;
    for (uint32_t c = 0; c < tree.parent.size(); c++) {
      if (tree.parent[c] != kNone) children[tree.parent[c]].push_back(c);
    }
    if (tree.parent.size() <= kMostShown) {
      for (const auto& [parent, list] : children)
        text += fmt::format("; {}: {}", parent, fmt::join(list, " "));
    }
    text += '\n';
  }
  return text;
}

std::string report_dimensions(const Map& map) {
  if (!map.room) return "dimensions are those of a room's text\n";
  const auto all = dimensions(*map.room);
  std::string text;
  double together = 0;
  for (const Dimension& d : all) {
    text += fmt::format("{:<18} {:>6}  {} a chip each way, {}\n", d.name, d.size, show_rate(d.bytes_per_s),
                        show_latency(d.latency_s));
    together += d.bytes_per_s;
  }
  if (all.size() > 1)
    text += fmt::format("one after the other the slowest counts; all at once a chip has {}\n",
                        show_rate(together));
  return text.empty() ? "no dimensions: no links between chips, and one host\n" : text;
}

std::string report_place(const Fabric& f, const Job& job, const Placement& p) {
  std::string text;
  if (p.found) {
    text = fmt::format("{}: {}\n", describe(job), fmt::join(p.chips, " "));
    text += fmt::format("  {} links among them, {} free chips beside; {}\n", p.inner, p.edge,
                        p.proven ? "none is better, proven" : "that none is better is not proven");
  } else {
    text = fmt::format("{}: none{}\n  {}\n", describe(job), p.proven ? ", proven" : " found", p.why);
    if (!p.chips.empty())
      text += fmt::format("  the best of fewer: {} chips, of at most {}: {}\n", p.chips.size(), p.bound,
                          fmt::join(p.chips, " "));
    else if (p.bound > 0 && p.bound < job.chips)
      text += fmt::format("  no more than {} can be placed\n", p.bound);
  }
  return text + grid(f, p.chips);
}

}  // namespace plait::topology
