#include "topology/graph.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <tuple>

#include "base/text.h"
#include "topology/units.h"

namespace plait::topology {
namespace {

constexpr std::array<std::string_view, kKinds> kNames = {
    "room", "pod",    "rack",       "host", "package", "NUMA node",     "cache",
    "core", "bridge", "PCI switch", "chip", "NIC",     "fabric switch", "network switch"};

// Takes a hexadecimal number of at most `most` digits and, where there must be one, the sign after it.
bool take_hex(std::string_view& text, size_t most, char end, uint32_t& value) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  const size_t digits = size_t(stop - text.data());
  if (error != std::errc() || digits > most) return false;
  text.remove_prefix(digits);
  if (end == 0) return text.empty();
  if (text.empty() || text.front() != end) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string_view name_of(Kind kind) noexcept { return kNames[size_t(kind)]; }

std::optional<PciAddress> parse_pci(std::string_view text) noexcept {
  uint32_t domain = 0, bus = 0, device = 0, function = 0;
  if (std::count(text.begin(), text.end(), ':') == 2 && !take_hex(text, 8, ':', domain)) return {};
  if (!take_hex(text, 2, ':', bus) || !take_hex(text, 2, '.', device) || !take_hex(text, 1, 0, function))
    return {};
  if (device > 31 || function > 15) return {};
  return PciAddress{domain, uint8_t(bus), uint8_t(device), uint8_t(function)};
}

std::string to_string(const PciAddress& a) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", a.domain, a.bus, a.device, a.function);
}

NodeId Graph::within(NodeId id, Kind kind) const noexcept {
  while (id != kNone && nodes_[id].kind != kind) id = nodes_[id].parent;
  return id;
}

uint32_t Graph::depth(NodeId id) const noexcept {
  uint32_t depth = 0;
  while ((id = nodes_[id].parent) != kNone) depth++;
  return depth;
}

NodeId Graph::common(NodeId a, NodeId b) const noexcept {
  // A parent's number is the smaller one.
  while (a != b) (a > b ? a : b) = nodes_[std::max(a, b)].parent;
  return a;
}

NodeId GraphBuilder::add(Kind kind, NodeId parent, std::string name) {
  const NodeId id = size();
  if (error_.empty()) {
    if ((id == 0) != (parent == kNone) || (id != 0 && parent >= id))
      error_ = fmt::format("node {} ('{}') is in nothing that there is", id, name);
    else if (id >= kMostNodes)
      error_ = fmt::format("more than {} nodes", kMostNodes);
    else if (name.size() > kMostName)
      error_ = fmt::format("node {} has a name of {} characters; {} is the most", id, name.size(), kMostName);
  }
  if (!error_.empty() && id > 0) return id - 1;  // build() refuses
  make_printable(name);
  graph_.nodes_.push_back({});
  graph_.nodes_.back().kind = kind;
  graph_.nodes_.back().parent = parent;
  graph_.nodes_.back().name = std::move(name);
  return id;
}

void GraphBuilder::link(Link link) {
  if (!error_.empty()) return;
  if (link.a > link.b) {
    std::swap(link.a, link.b);
    std::swap(link.forward_bytes_per_s, link.backward_bytes_per_s);
  }
  if (link.b >= size() || link.a == link.b)
    error_ = fmt::format("a link from node {} to node {} of {}", link.a, link.b, size());
  else if (link.count == 0 || link.count > 4096)
    error_ = fmt::format("{} links side by side from node {} to node {}", link.count, link.a, link.b);
  else if (!is_amount(link.latency_s) || !is_amount(link.forward_bytes_per_s) ||
           !is_amount(link.backward_bytes_per_s))
    error_ =
        fmt::format("a link from node {} to node {} with a rate or latency that is none", link.a, link.b);
  else if (graph_.links_.size() >= kMostLinks)
    error_ = fmt::format("more than {} links", kMostLinks);
  else
    graph_.links_.push_back(link);
}

Result<Graph> GraphBuilder::build() {
  Graph g = std::move(graph_);
  std::string error = std::move(error_);
  *this = {};
  if (error.empty() && g.nodes_.empty()) error = "no nodes";
  const size_t n = g.nodes_.size();
  g.kinds_.resize(kKinds);
  g.child_.assign(n + 1, 0);
  for (NodeId id = 0; id < n && error.empty(); id++) {
    Node& node = g.nodes_[id];
    if (!is_amount(node.latency_s) || !is_amount(node.bytes_per_s) || !is_amount(node.port_bytes_per_s))
      error = fmt::format("'{}' has a rate or latency that is none", node.name);
    node.index = uint32_t(g.kinds_[size_t(node.kind)].size());
    g.kinds_[size_t(node.kind)].push_back(id);
    if (node.parent != kNone) g.child_[node.parent + 1]++;
  }
  std::sort(g.links_.begin(), g.links_.end(), [](const Link& x, const Link& y) {
    return std::tie(x.a, x.b, x.kind) < std::tie(y.a, y.b, y.kind);
  });
  for (size_t i = 1; i < g.links_.size() && error.empty(); i++) {
    const Link &x = g.links_[i - 1], &y = g.links_[i];
    if (x.a == y.a && x.b == y.b && x.kind == y.kind)
      error = fmt::format("two links between '{}' and '{}', which one with a count should be",
                          g.nodes_[x.a].name, g.nodes_[x.b].name);
  }
  if (!error.empty()) return Status(Code::invalid, "not a map of machines: " + error);

  for (size_t i = 0; i < n; i++) g.child_[i + 1] += g.child_[i];
  g.children_.resize(n - 1);
  std::vector<uint32_t> at(g.child_.begin(), g.child_.end());
  for (NodeId id = 1; id < n; id++) g.children_[at[g.nodes_[id].parent]++] = id;
  g.first_.assign(n + 1, 0);
  for (const Link& l : g.links_) g.first_[l.a + 1]++, g.first_[l.b + 1]++;
  for (size_t i = 0; i < n; i++) g.first_[i + 1] += g.first_[i];
  g.incident_.resize(2 * g.links_.size());
  at.assign(g.first_.begin(), g.first_.end());
  for (uint32_t i = 0; i < g.links_.size(); i++) {
    g.incident_[at[g.links_[i].a]++] = i;
    g.incident_[at[g.links_[i].b]++] = i;
  }
  return g;
}

}  // namespace plait::topology
