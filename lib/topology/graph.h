// The map of a machine, or of a room of machines: what there is, inside what, and the links between. Built
// once, then only read: any number of threads may. Times are seconds, rates bytes a second.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace plait::topology {

// From the outside in.
enum class Kind : uint8_t {
  room,
  pod,
  rack,
  host,
  package,  // a socket
  numa,     // cores and the memory that is near them
  cache,    // that several cores share
  core,
  bridge,  // where PCI begins
  pci_switch,
  chip,           // a GPU or another accelerator, a rank's usual place
  nic,            // a port to the network
  fabric_switch,  // of chips, inside a host
  network_switch,
};
inline constexpr uint32_t kKinds = 14;
// "PCI switch".
std::string_view name_of(Kind kind) noexcept;

// Names a node of one graph: 0 is the root; a node's number is larger than that of what it is in.
using NodeId = uint32_t;
inline constexpr NodeId kNone = UINT32_MAX;

// As PCI writes it, "0000:3b:00.0".
struct PciAddress {
  uint32_t domain = 0;
  uint8_t bus = 0, device = 0, function = 0;
  auto operator<=>(const PciAddress&) const = default;
};
std::optional<PciAddress> parse_pci(std::string_view text) noexcept;
std::string to_string(const PciAddress& address);

struct Node {
  Kind kind = Kind::room;
  NodeId parent = kNone;
  uint32_t index = 0;   // among those of its kind in this graph, in the order of ids
  int32_t system = -1;  // what the system calls it: core number, NUMA node, GPU; -1: nothing
  std::string name;     // "host 3", "mlx5_0": for people; need not be unique
  std::optional<PciAddress> pci;
  // Towards the parent; 0: not known, and taken for no limit.
  double latency_s = 0, bytes_per_s = 0;
  // Out of the machine, of a NIC; 0: not known.
  double port_bytes_per_s = 0;
  bool dead = false;   // there, but broken
  bool taken = false;  // somebody else's
};

// What joins two nodes besides one being in the other.
enum class LinkKind : uint8_t { chip, package, network };
struct Link {
  NodeId a = kNone, b = kNone;  // a < b
  LinkKind kind = LinkKind::chip;
  uint32_t count = 1;  // side by side
  double latency_s = 0;
  double forward_bytes_per_s = 0,
         backward_bytes_per_s = 0;  // of all together, from a to b and back; 0: not known
};

// How large a graph may be: a file of some bytes cannot ask for gigabytes.
inline constexpr uint32_t kMostNodes = 1u << 21;
inline constexpr uint32_t kMostLinks = 1u << 22;
inline constexpr size_t kMostName = 255;

class Graph {
 public:
  std::span<const Node> nodes() const noexcept { return nodes_; }
  const Node& node(NodeId id) const noexcept { return nodes_[id]; }
  std::span<const Link> links() const noexcept { return links_; }
  // Those of a node, as indexes into links().
  std::span<const uint32_t> links_of(NodeId id) const noexcept {
    return {incident_.data() + first_[id], first_[id + 1] - first_[id]};
  }
  std::span<const NodeId> children_of(NodeId id) const noexcept {
    return {children_.data() + child_[id], child_[id + 1] - child_[id]};
  }
  // All of a kind, by index.
  std::span<const NodeId> of(Kind kind) const noexcept { return kinds_[size_t(kind)]; }

  NodeId other(const Link& link, NodeId from) const noexcept { return link.a == from ? link.b : link.a; }
  // The nearest of that kind that the node is in, or is; kNone: none.
  NodeId within(NodeId id, Kind kind) const noexcept;
  // The innermost that both are in.
  NodeId common(NodeId a, NodeId b) const noexcept;
  uint32_t depth(NodeId id) const noexcept;

 private:
  friend class GraphBuilder;
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<uint32_t> first_, incident_, child_;
  std::vector<NodeId> children_;
  std::vector<std::vector<NodeId>> kinds_;
};

// Makes a graph, from the outside in.
class GraphBuilder {
 public:
  // The root is added first, with kNone. Returns its id. What is wrong is remembered for build().
  NodeId add(Kind kind, NodeId parent, std::string name);
  // To fill in what add() does not take, until the next add().
  Node& at(NodeId id) noexcept { return graph_.nodes_[id]; }
  void link(Link link);
  uint32_t size() const noexcept { return uint32_t(graph_.nodes_.size()); }

  // The graph, checked; the builder is empty then. Code::invalid names the first thing that is wrong: a node
  // in nothing, a link to nothing or to itself, two links of a kind between the same two, a number that is
  // none, too many of something.
  Result<Graph> build();

 private:
  Graph graph_;
  std::string error_;
};

}  // namespace plait::topology
