// Graphs for people and programs: an indented tree, SVG, Graphviz, JSON.
#pragma once

#include <string>

#include "base/status.h"
#include "topology/graph.h"
#include "topology/place.h"

namespace plait::topology {

// A line each node, alike ones together. `most`: lines, after which the rest is only counted.
std::string show_tree(const Graph& graph, size_t most = 400);

inline constexpr size_t kMostDrawn = 4000;
// Machines as boxes in boxes, as lstopo draws them; links between chips as arcs. Code::unsupported: more than
// kMostDrawn nodes.
Result<std::string> to_svg(const Graph& graph);
// Chips of a room of a regular shape as dots where they are, dead and taken ones marked, with the links
// between them; `rings` and `job` (each may be empty) in colours. Code::unsupported: too many, or chips in no
// shape.
Result<std::string> to_svg(const Fabric& fabric, const std::vector<std::vector<uint32_t>>& rings,
                           const std::vector<uint32_t>& job);
Result<std::string> to_dot(const Graph& graph);
// All nodes and links, for programs.
std::string to_json(const Graph& graph);
// The answer to a job, for a scheduler.
std::string to_json(const Job& job, const Placement& placement);

}  // namespace plait::topology
