// What holds of whatever a file of machines is read as (docs/topology.md).
#pragma once

#include <string>

#include "fuzz.h"
#include "topology/levels.h"
#include "topology/report.h"
#include "topology/rings.h"
#include "topology/show.h"
#include "topology/trees.h"

namespace plait::fuzz {

inline void check_graph(const topology::Graph& g) {
  using namespace topology;
  require(!g.nodes().empty() && g.nodes().size() <= kMostNodes, "a graph has nodes, and not too many");
  for (NodeId id = 0; id < g.nodes().size(); id++) {
    require((id == 0) == (g.node(id).parent == kNone) && (id == 0 || g.node(id).parent < id),
            "a node is in one before");
    require(is_printable(g.node(id).name), "a name can be printed");
  }
  for (const Link& l : g.links())
    require(l.a < l.b && l.b < g.nodes().size() && l.count > 0, "a link joins two");
  size_t places = g.of(Kind::chip).empty() ? g.of(Kind::core).size() : g.of(Kind::chip).size();
  if (g.nodes().size() > 300) return;
  for (const Level& l : levels(g))
    require(l.group_of.size() == places && l.largest >= l.smallest, "a level has all");
  require(rails(g).size() == places, "each place has a NIC or none");
  const auto fabric = fabric_of(g);
  if (fabric.ok() && fabric->chips() <= 64) {
    require(check_rings(*fabric, rings(*fabric, 20000).cycles).empty(), "rings are some");
    require(check_trees(*fabric, double_tree(*fabric)).empty(), "trees are some");
  }
  require(!show_tree(g).empty() && to_svg(g).ok() && to_dot(g).ok() && !to_json(g).empty(),
          "it can be shown");
}

template <class T>
bool refused(const Result<T>& result) {
  if (result.ok()) return false;
  require(is_printable(result.status().text()), "a reason can be printed");
  require(result.status().text().starts_with("x:"), "a reason has a line");
  return true;
}

}  // namespace plait::fuzz
