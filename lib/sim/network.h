// A network as the simulator sees it: places where ranks sit, links with a capacity and a latency, and the
// way from one place to another. Whoever describes machines (rooms, in room_network.h) implements
// this.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace plait::sim {

// One direction of a cable, or what a switch moves in all (from == to: its fabric).
struct Link {
  int32_t from = -1, to = -1;  // nodes; -1: a number that is no link
  double capacity = 0;         // bytes a second
  double latency = 0;          // seconds
};

// Immutable while a simulation runs. Nodes are numbered from 0 on, those where ranks sit first.
class Network {
 public:
  virtual ~Network() = default;
  virtual int32_t terminals() const = 0;
  virtual int32_t nodes() const = 0;
  virtual uint32_t links() const = 0;
  virtual Link link(uint32_t number) const = 0;
  // Appends the links from one terminal to another, in order; none: the network is ideal there. The same each
  // time.
  virtual void route(int32_t from, int32_t to, std::vector<uint32_t>& links) const = 0;
  // Whether it passes on what is for others. Without switches all do, else switches do.
  virtual bool forwards(int32_t node) const { return node >= terminals() || nodes() == terminals(); }
  // What people call a node: "3" for a place, "leaf 1".
  virtual std::string name(int32_t node) const = 0;
};

// "3->4", "leaf 1->spine 0", "leaf 1" for a fabric.
std::string name_of(const Network& network, uint32_t link);

// The links between two nodes that are written as "A-B", in both directions; "leaf 1" alone is its fabric.
// Code::invalid: no such nodes, or nothing between them.
Result<std::vector<uint32_t>> find_links(const Network& network, const std::string& text);

// `network` without the links `cut`: a route that crosses one takes a shortest way around instead, of those
// the one of lowest link numbers, as if tables had been made anew. A pair with no way left keeps its route
// over what was cut.
std::unique_ptr<Network> around(std::unique_ptr<Network> network, const std::vector<uint32_t>& cut);

}  // namespace plait::sim
