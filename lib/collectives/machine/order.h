// An order in which everything can happen, or the circle of steps that wait for each other.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "collectives/machine/graph.h"

namespace plait::collectives {

// Events are what happens at once: a chain with all of its receives (rule 7) and, without credits, a send
// with its receive (rule 5).
class Order {
 public:
  // Refused when no order exists, which is a deadlock; the sentence names ranks, steps and what they wait
  // for.
  static Result<Order> make(const Graph& graph, uint32_t credits);

  uint32_t events() const noexcept { return uint32_t(sequence_.size()); }
  // The nodes of the i-th event, ascending.
  std::span<const uint32_t> nodes(uint32_t i) const noexcept { return members(sequence_[i]); }

 private:
  explicit Order(const Graph& graph) : graph_(&graph) {}
  void form_events(uint32_t credits);
  void sort(uint32_t credits);
  struct Hop {
    uint32_t node, other;
  };
  Hop hop_from(uint32_t event, uint32_t credits) const;
  std::string circle(uint32_t credits, uint32_t event) const;
  bool waits_inside(uint32_t node, uint32_t other) const;
  uint32_t blocking(uint32_t node, uint32_t credits) const;
  std::span<const uint32_t> members(uint32_t event) const noexcept {
    return std::span(members_).subspan(begin_[event], begin_[event + 1] - begin_[event]);
  }

  const Graph* graph_;
  std::vector<uint32_t> event_;            // of each node
  std::vector<uint32_t> begin_, members_;  // the nodes of each event
  std::vector<uint32_t> waits_;            // for how many nodes each event still waits, once sorted
  std::vector<uint32_t> sequence_;
};

}  // namespace plait::collectives
