// Runs programs over symbolic values (value.h) in an order in which everything can happen.
#pragma once

#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collectives/algorithms.h"
#include "collectives/cells.h"
#include "collectives/machine/graph.h"
#include "collectives/machine/order.h"

namespace plait::collectives {

template <class Value>
class Execution {
 public:
  // `exact`: codecs bring back what was encoded.
  Execution(Collective collective, int root, std::span<const Program> programs, bool exact = false)
      : collective_(collective), programs_(programs), exact_(exact) {
    auto n = int(programs.size());
    for (const Program& p : programs) {
      Cells cells(p);
      std::vector<Cell>& state = state_.emplace_back(cells.count());
      Range input = input_of(collective, n, p.rank, root, p.chunks);
      for (uint32_t c = input.first; c < input.end(); c++) {
        uint32_t slot = slot_of(collective, Buffer::input, uint32_t(n), uint32_t(p.rank), c);
        state[cells.at(place(Buffer::input, slot))] = {Value::atom(uint32_t(p.rank), c), c};
      }
    }
  }

  // Fails at the first step that reads what is not there or folds what is already scaled, and where `watch`,
  // which sees each value that a fold makes, returns what is wrong with it: watch(value) -> std::string.
  template <class Watch>
  Status run(const Graph& graph, const Order& order, Watch watch) {
    for (uint32_t e = 0; e < order.events(); e++) {
      auto nodes = order.nodes(e);
      // A lone send leaves its values in flight; one that is part of an event is the receive's to carry out.
      bool lone = nodes.size() == 1 && sends(graph.step(nodes[0]).op);
      for (uint32_t node : nodes) {
        const Step& step = graph.step(node);
        if (lone) {
          PLAIT_TRY(gather(graph, node, in_flight_[graph.match(node)]));
        } else if (receives(step.op)) {
          PLAIT_TRY(receive(graph, node, watch));
        } else if (!sends(step.op)) {
          PLAIT_TRY(local(graph.program(node), graph.first(node), watch));
        }
      }
    }
    return {};
  }

  // What lies in an output in the end.
  const Value& output(size_t rank, uint32_t chunk) const {
    uint32_t slot = slot_of(collective_, Buffer::output, uint32_t(programs_.size()), uint32_t(rank), chunk);
    return state_[rank][Cells(programs_[rank]).at(place(Buffer::output, slot))].value;
  }

 private:
  // Scratch has no chunk of its own: what lies there is read as the chunk as which it was written, or its
  // bytes would not be those that the step says (rule 1).
  struct Cell {
    Value value;
    uint32_t chunk = 0;
  };

  Status load(const Program& p, uint32_t step, Place from, uint32_t k, const Cell*& cell) const {
    const Step& s = p.steps[step];
    cell = &state_[size_t(p.rank)][Cells(p).at(from) + k];
    if (cell->value.empty()) return refuse(p, step, from, k, " reads {}, where nothing lies yet");
    if (cell->chunk == s.chunk + k) return {};
    return {Code::invalid, describe(p, step) + ": chunk " + std::to_string(cell->chunk) + " lies in " +
                               describe(place(from.in(), from.slot + k)) + ", not chunk " +
                               std::to_string(s.chunk + k)};
  }
  static Status refuse(const Program& p, uint32_t step, Place from, uint32_t k, std::string why) {
    why.replace(why.find("{}"), 2, describe(place(from.in(), from.slot + k)));
    return {Code::invalid, describe(p, step) + why};
  }
  void store(const Program& p, const Step& s, uint32_t k, Value value) {
    state_[size_t(p.rank)][Cells(p).at(s.dst) + k] = {std::move(value), s.chunk + k};
  }

  template <class Watch>
  Status fold(const Program& p, uint32_t step, uint32_t k, const Value& left, const Value& right,
              Watch& watch) {
    const Step& s = p.steps[step];
    auto where = [&] { return describe(p, step) + ": chunk " + std::to_string(s.chunk + k); };
    if (left.scalings + right.scalings > 0) {
      return {Code::invalid,
              where() + " is folded on after the fold that is flagged as its last, where avg scales"};
    }
    Value sum = s.flags & kSwapped ? Value::join(right, left, s.flags) : Value::join(left, right, s.flags);
    if (std::string why = watch(sum); !why.empty()) return {Code::invalid, where() + " " + why};
    store(p, s, k, std::move(sum));
    return {};
  }

  template <class Watch>
  Status local(const Program& p, uint32_t step, Watch& watch) {
    const Step& s = p.steps[step];
    for (uint32_t k = 0; k < s.count; k++) {
      const Cell *left = nullptr, *right = nullptr;
      PLAIT_TRY(load(p, step, s.src, k, left));
      if (s.op != Op::reduce && s.op != Op::decode_reduce) {
        const bool lossy = s.op == Op::encode && !exact_;
        store(p, s, k, lossy ? left->value.coded(uint32_t(p.rank), step) : Value(left->value));
        continue;
      }
      PLAIT_TRY(load(p, step, s.src2, k, right));
      PLAIT_TRY(fold(p, step, k, left->value, right->value, watch));
    }
    return {};
  }

  // The values of a message, chunk by chunk.
  Status gather(const Graph& graph, uint32_t node, std::vector<Value>& values) const {
    const Program& p = graph.program(node);
    values.clear();
    for (uint32_t i = graph.first(node), end = message_end(p, i); i < end; i++) {
      for (uint32_t k = 0; k < p.steps[i].count; k++) {
        const Cell* cell = nullptr;
        PLAIT_TRY(load(p, i, p.steps[i].src, k, cell));
        values.push_back(cell->value);
      }
    }
    return {};
  }

  template <class Watch>
  Status receive(const Graph& graph, uint32_t node, Watch& watch) {
    if (auto sent = in_flight_.find(node); sent != in_flight_.end()) {
      message_ = std::move(sent->second);
      in_flight_.erase(sent);
    } else {
      PLAIT_TRY(gather(graph, graph.match(node), message_));
    }
    const Program& p = graph.program(node);
    auto value = message_.begin();
    for (uint32_t i = graph.first(node), end = message_end(p, i); i < end; i++) {
      const Step& s = p.steps[i];
      for (uint32_t k = 0; k < s.count; k++, value++) {
        if (s.op == Op::recv) {
          store(p, s, k, std::move(*value));
          continue;
        }
        const Cell* own = nullptr;
        PLAIT_TRY(load(p, i, s.src, k, own));
        PLAIT_TRY(fold(p, i, k, own->value, *value, watch));
      }
    }
    return {};
  }

  Collective collective_;
  std::span<const Program> programs_;
  const bool exact_;
  std::vector<std::vector<Cell>> state_;                        // of each rank, by its Cells
  std::unordered_map<uint32_t, std::vector<Value>> in_flight_;  // by receive
  std::vector<Value> message_;
};

}  // namespace plait::collectives
