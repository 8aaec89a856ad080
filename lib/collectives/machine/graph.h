// The programs of all ranks as one graph: which message meets which, and who waits for whom.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "collectives/program.h"

namespace plait::collectives {

// A node is a message end (all steps joined by kMore) or a local step. Nodes of a rank are adjacent and in
// the order of its list.
class Graph {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Refused: chains that are not well formed, and streams (source, destination, lane) whose k-th send and
  // k-th receive are not there both or name other chunks. `programs` have passed check_steps and must outlive
  // the graph.
  static Result<Graph> make(std::span<const Program> programs);

  uint32_t size() const noexcept { return uint32_t(nodes_.size()); }
  const Program& program(uint32_t node) const noexcept { return programs_[size_t(nodes_[node].rank)]; }
  // Its first step, in its program's list.
  uint32_t first(uint32_t node) const noexcept { return nodes_[node].step; }
  const Step& step(uint32_t node) const noexcept { return program(node).steps[first(node)]; }
  // The other end of a message; kNone for a local step.
  uint32_t match(uint32_t node) const noexcept { return nodes_[node].match; }
  // The node before it of the same stream and direction; kNone for the first one and for local steps.
  uint32_t previous(uint32_t node) const noexcept { return nodes_[node].previous; }
  std::string describe(uint32_t node) const { return collectives::describe(program(node), first(node)); }

  // Calls f(a, b) for each two nodes that belong to one chain, enough of them to connect it.
  template <class F>
  void each_link(F f) const {
    for (auto [a, b] : links_) f(a, b);
  }

  // Calls f(other) for each node that `node` waits for when each stream has so many credits. With none, a
  // send and its receive are one event and neither waits for the other.
  template <class F>
  void each_wait(uint32_t node, uint32_t credits, F f) const {
    const Program& p = program(node);
    for (uint32_t d = p.dep_begin[first(node)]; d < p.dep_begin[first(node) + 1]; d++)
      f(node_of(node, p.deps[d]));
    if (previous(node) != kNone) f(previous(node));
    if (credits == 0 || match(node) == kNone) return;
    if (!sends(step(node).op)) return f(match(node));
    uint32_t earlier = node;  // the send whose credit this one takes over
    for (uint32_t k = 0; k < credits && earlier != kNone; k++) earlier = previous(earlier);
    if (earlier != kNone) f(match(earlier));
  }

 private:
  struct Node {
    int32_t rank;
    uint32_t step;
    uint32_t match = kNone;
    uint32_t previous = kNone;  // of the same stream and direction
  };
  struct End;

  explicit Graph(std::span<const Program> programs) : programs_(programs) {}
  void add_nodes();
  Status link_chains();
  Status match_streams();
  Status meet(const End& send, const End& receive);
  // The node of a step of the same rank as `node`.
  uint32_t node_of(uint32_t node, uint32_t step) const noexcept {
    return at(size_t(nodes_[node].rank), step);
  }
  uint32_t at(size_t rank, uint32_t step) const noexcept {
    return node_of_step_[rank].empty() ? base_[rank] + step : node_of_step_[rank][step];
  }

  std::span<const Program> programs_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> base_;                       // the first node of each rank
  std::vector<std::vector<uint32_t>> node_of_step_;  // of ranks that join steps; otherwise a step is a node
  std::vector<std::pair<uint32_t, uint32_t>> links_;
};

}  // namespace plait::collectives
