#include "topology/show.h"

#include <spdlog/fmt/fmt.h>

#include <nlohmann/json.hpp>

#include "documents/canvas.h"
#include "topology/units.h"

namespace plait::topology {
namespace {

std::string label(const Node& n) {
  std::string text = n.name;
  if (n.pci && n.name.find(to_string(*n.pci)) == std::string::npos) text += " at " + to_string(*n.pci);
  if (n.bytes_per_s > 0) text += ", " + show_rate(n.bytes_per_s) + " up";
  if (n.port_bytes_per_s > 0) text += ", port " + show_bit_rate(n.port_bytes_per_s);
  if (n.dead) text += ", dead";
  if (n.taken) text += ", taken";
  return text;
}

// What a node's part of the tree looks like, without numbers: alike parts are shown once.
std::string outline(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  std::string text =
      fmt::format("{}|{}|{}|{}{}(", uint32_t(n.kind), n.bytes_per_s, n.port_bytes_per_s, n.dead, n.taken);
  if (n.pci) text += "p";
  for (const char c : n.name) {  // "leaf" of "leaf 3"
    if (c >= 'a' && c != 'p' && c <= 'z') text += c;
  }
  for (const NodeId c : g.children_of(id)) text += outline(g, c);
  return text + ")";
}

class TreeText {
 public:
  TreeText(const Graph& g, size_t most) : g_(g), most_(most) {}
  std::string run() {
    visit(0, 0, label(g_.node(0)));
    links();
    if (hidden_ > 0) text_ += fmt::format("... and {} lines more\n", hidden_);
    return std::move(text_);
  }

 private:
  void line(uint32_t depth, std::string_view what) {
    if (lines_++ < most_)
      text_ += fmt::format("{:{}}{}\n", "", 2 * depth, what);
    else
      hidden_++;
  }
  void visit(NodeId id, uint32_t depth, const std::string& what) {
    line(depth, what);
    if (hidden_ > 0) return;
    const auto children = g_.children_of(id);
    std::string alike;
    for (size_t i = 0; i < children.size();) {
      const Node& first = g_.node(children[i]);
      const std::string shape = outline(g_, children[i]);
      size_t end = i + 1;
      // Things that a program may want to name are named; cores and hosts by the hundred are counted.
      while (end < children.size() && g_.node(children[end]).kind == first.kind && countable(shape) &&
             outline(g_, children[end]) == shape)
        end++;
      if (end - i == 1)
        visit(children[i], depth + 1, label(first));
      else
        visit(children[i], depth + 1,
              fmt::format("{} .. {} ({} alike){}", first.name, g_.node(children[end - 1]).name, end - i,
                          label(first).substr(first.name.size())));
      i = end;
    }
  }
  static bool countable(const std::string& shape) { return shape.find('p') == std::string::npos; }

  void links() {
    for (const auto& [kind, name] : {std::pair(LinkKind::chip, "between chips"),
                                     {LinkKind::package, "between sockets"},
                                     {LinkKind::network, "of the network"}}) {
      uint64_t count = 0;
      double least = 0, most = 0;
      for (const Link& l : g_.links()) {
        if (l.kind != kind) continue;
        const double rate = std::min(l.forward_bytes_per_s, l.backward_bytes_per_s) / l.count;
        least = count == 0 ? rate : std::min(least, rate);
        most = std::max(most, rate);
        count += l.count;
      }
      if (count == 0) continue;
      line(0, fmt::format("{} link{} {}, {}{} each way", count, count == 1 ? "" : "s", name, show_rate(least),
                          most > least ? " to " + show_rate(most) : ""));
    }
  }

  const Graph& g_;
  const size_t most_;
  size_t lines_ = 0, hidden_ = 0;
  std::string text_;
};

nlohmann::ordered_json json_of(const Node& n, NodeId id) {
  nlohmann::ordered_json j{{"id", id}, {"kind", name_of(n.kind)}, {"name", n.name}};
  if (n.parent != kNone) j["in"] = n.parent;
  if (n.system >= 0) j["system"] = n.system;
  if (n.pci) j["pci"] = to_string(*n.pci);
  if (n.bytes_per_s > 0) j["bytes_per_s"] = n.bytes_per_s;
  if (n.latency_s > 0) j["latency_s"] = n.latency_s;
  if (n.port_bytes_per_s > 0) j["port_bytes_per_s"] = n.port_bytes_per_s;
  if (n.dead) j["dead"] = true;
  if (n.taken) j["taken"] = true;
  return j;
}

std::string dump(const nlohmann::ordered_json& j, int indent) {
  return j.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string show_tree(const Graph& graph, size_t most) { return TreeText(graph, most).run(); }

Result<std::string> to_dot(const Graph& g) {
  if (g.nodes().size() > kMostDrawn)
    return Status(Code::unsupported,
                  fmt::format("{} nodes: {} are the most of a drawing", g.nodes().size(), kMostDrawn));
  auto quoted = [](std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out + "\"";
  };
  std::string text =
      "graph machine {\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n  edge [fontsize=9];\n";
  for (NodeId id = 0; id < g.nodes().size(); id++)
    text += fmt::format("  n{} [label={}];\n", id, quoted(label(g.node(id))));
  for (NodeId id = 1; id < g.nodes().size(); id++)
    text += fmt::format("  n{} -- n{} [color=gray];\n", g.node(id).parent, id);
  for (const Link& l : g.links())
    text += fmt::format("  n{} -- n{} [color={}, label={}];\n", l.a, l.b,
                        l.kind == LinkKind::network ? "blue" : "darkgreen",
                        quoted((l.count > 1 ? fmt::format("{} x ", l.count) : "") +
                               show_rate(l.forward_bytes_per_s / l.count)));
  return text + "}\n";
}

std::string to_json(const Graph& g) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array(), links = nlohmann::ordered_json::array();
  for (NodeId id = 0; id < g.nodes().size(); id++) nodes.push_back(json_of(g.node(id), id));
  static constexpr std::string_view kLinkKinds[] = {"chip", "package", "network"};
  for (const Link& l : g.links())
    links.push_back({{"a", l.a},
                     {"b", l.b},
                     {"kind", kLinkKinds[size_t(l.kind)]},
                     {"count", l.count},
                     {"latency_s", l.latency_s},
                     {"forward_bytes_per_s", l.forward_bytes_per_s},
                     {"backward_bytes_per_s", l.backward_bytes_per_s}});
  return dump({{"version", 1}, {"nodes", std::move(nodes)}, {"links", std::move(links)}}, 1);
}

std::string to_json(const Job& job, const Placement& p) {
  nlohmann::ordered_json j{{"job", describe(job)}, {"found", p.found},     {"proven", p.proven},
                           {"chips", p.chips},     {"wanted", job.chips},  {"bound", p.bound},
                           {"links", p.inner},     {"free_beside", p.edge}};
  if (p.bytes_per_s > 0) j["slowest_link_bytes_per_s"] = p.bytes_per_s;
  if (!p.found && !p.chips.empty()) j["gap"] = p.bound > p.chips.size() ? p.bound - p.chips.size() : 0;
  if (!p.why.empty()) j["why"] = p.why;
  return dump(j, -1);
}

}  // namespace plait::topology
