#include "collectives/exchange/rounds.h"

#include <algorithm>
#include <array>

#include "collectives/cells.h"
#include "collectives/machine/graph.h"
#include "collectives/machine/order.h"

namespace plait::collectives::exchange {

// Goes through the events in an order in which they can happen and gives each the first round in which those
// that take part are free.
class RoundPlanner {
 public:
  RoundPlanner(std::span<const Program> programs, const Graph& graph, const Order& order, uint32_t credits)
      : programs_(programs),
        graph_(graph),
        order_(order),
        credits_(credits),
        begin_(graph.size(), kUnknown),
        busy_(programs.size()) {}

  Rounds run() {
    for (uint32_t e = 0; e < order_.events(); e++) {
      const auto nodes = order_.nodes(e);
      for (uint32_t node : nodes) {
        if (receives(graph_.step(node).op)) message(node);
      }
      // A send that is not part of its receive's event.
      for (uint32_t node : nodes) {
        if (sends(graph_.step(node).op) && begin_[node] == kUnknown) place(node, kUnknown, ready(node));
      }
      local(nodes);
    }
    return result();
  }

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX;
  enum Unit : uint8_t { sender, receiver, worker };

  size_t rank(uint32_t node) const { return size_t(graph_.program(node).rank); }
  Unit unit(uint32_t node) const {
    const Op op = graph_.step(node).op;
    return sends(op) ? sender : receives(op) ? receiver : worker;
  }
  bool is_free(uint32_t node, uint32_t round) const {
    const auto& busy = busy_[rank(node)][unit(node)];
    return round >= busy.size() || !busy[round];
  }
  void take(uint32_t node, uint32_t round) {
    auto& busy = busy_[rank(node)][unit(node)];
    if (busy.size() <= round) busy.resize(size_t(round) + 1);
    busy[round] = true;
    begin_[node] = round;
  }

  // The first round after all that a node waits for. A receive may be in the round of its send.
  uint32_t ready(uint32_t node) const {
    uint32_t round = 0;
    graph_.each_wait(node, sends(graph_.step(node).op) ? credits_ : 0, [&](uint32_t other) {
      if (begin_[other] != kUnknown) round = std::max(round, begin_[other] + 1);
    });
    return round;
  }
  void message(uint32_t receive) {
    const uint32_t send = graph_.match(receive);
    if (begin_[send] != kUnknown) return place(receive, kUnknown, std::max(ready(receive), begin_[send]));
    place(receive, send, std::max(ready(receive), ready(send)));
  }
  void place(uint32_t node, uint32_t other, uint32_t round) {
    while (!is_free(node, round) || (other != kUnknown && !is_free(other, round))) round++;
    take(node, round);
    if (other != kUnknown) take(other, round);
  }

  // The local steps of an event: one, or those of a chain, which are worked on as one.
  void local(std::span<const uint32_t> nodes) {
    uint32_t first = kUnknown, round = 0;
    for (uint32_t node : nodes) {
      if (unit(node) != worker) continue;
      if (first == kUnknown) first = node;
      round = std::max(round, ready(node));
    }
    if (first == kUnknown) return;
    place(first, kUnknown, round);
    for (uint32_t node : nodes) {
      if (unit(node) == worker) begin_[node] = begin_[first];
    }
  }

  Rounds result() const {
    Rounds rounds;
    for (const Program& p : programs_) {
      rounds.at_.emplace_back(p.steps.size());
      rounds.match_.emplace_back(p.steps.size(), kUnknown);
    }
    for (uint32_t node = 0; node < graph_.size(); node++) {
      const Program& p = graph_.program(node);
      const uint32_t match = graph_.match(node);
      rounds.count_ = std::max(rounds.count_, begin_[node] + 1);
      if (sends(graph_.step(node).op)) rounds.messages_++;
      for (uint32_t i = graph_.first(node), end = message_end(p, i); i < end; i++) {
        rounds.at_[rank(node)][i] = begin_[node];
        if (match != Graph::kNone) rounds.match_[rank(node)][i] = graph_.first(match);
      }
    }
    return rounds;
  }

  std::span<const Program> programs_;
  const Graph& graph_;
  const Order& order_;
  uint32_t credits_;
  std::vector<uint32_t> begin_;                         // of each node
  std::vector<std::array<std::vector<bool>, 3>> busy_;  // by rank, unit and round
};

Result<Rounds> Rounds::make(std::span<const Program> programs, uint32_t credits) {
  auto graph = Graph::make(programs);
  if (!graph.ok()) return graph.status();
  auto order = Order::make(*graph, credits);
  if (!order.ok()) return order.status();
  return RoundPlanner(programs, *graph, *order, credits).run();
}

Timing Rounds::timing(double round) const {
  return [this, round](int32_t rank, uint32_t step) {
    const double begin = of(rank, step) * round;
    return Interval{begin, begin + round};
  };
}

}  // namespace plait::collectives::exchange
