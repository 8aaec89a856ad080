#include "collectives/machine/work.h"

#include <numeric>
#include <utility>

namespace plait::collectives {

Work::Work(const Graph& graph, size_t ranks) : graph_(graph), nodes_(graph.size()) {
  for (uint32_t i = 0; i < graph.size(); i++) {
    while (first_.size() <= size_t(graph.program(i).rank)) first_.push_back(i);
    classify(i);
  }
  first_.resize(ranks + 1, graph.size());
  join_chains();
  pack_followers();
  find_fused();
  pack_takes();
}

void Work::classify(uint32_t i) {
  const Step& s = graph_.step(i);
  Node& node = nodes_[i];
  node.rank = graph_.program(i).rank;
  node.copies = s.op == Op::copy;
  node.plain = s.op == Op::recv && !(s.flags & kChain);
  node.folds = folds(s.op) ? 1 : 0;
  if (receives(s.op)) node.taken_by = i;
  messages_ += sends(s.op);
  if (graph_.previous(i) != Graph::kNone) nodes_[graph_.previous(i)].next = i;
}

// A chain is one event (rule 7): its last fold does the work of all of them.
void Work::join_chains() {
  graph_.each_link([&](uint32_t node, uint32_t end) {
    if (receives(graph_.step(node).op)) nodes_[node].taken_by = end;
    nodes_[end].folds += std::exchange(nodes_[node].folds, 0);
  });
}

void Work::pack_followers() {
  auto each = [&](auto f) {
    for (uint32_t i = 0; i < graph_.size(); i++) {
      graph_.each_wait(i, 0, [&](uint32_t other) {
        if (other != graph_.previous(i)) f(other, i);
      });
    }
  };
  follow_begin_.assign(graph_.size() + 1, 0);
  each([&](uint32_t node, uint32_t follower) {
    follow_begin_[node + 1]++;
    nodes_[follower].waits++;
  });
  std::partial_sum(follow_begin_.begin(), follow_begin_.end(), follow_begin_.begin());
  followers_.resize(follow_begin_.back());
  List at(follow_begin_.begin(), follow_begin_.end() - 1);
  each([&](uint32_t node, uint32_t follower) { followers_[at[node]++] = follower; });
  for (uint32_t i = 0; i < graph_.size(); i++) nodes_[i].waits += graph_.previous(i) != Graph::kNone;
}

// As the real machine's peephole (a) finds them.
void Work::find_fused() {
  for (uint32_t i = 0; i < graph_.size(); i++) {
    const Step& made = graph_.step(i);
    if (!folds(made.op) && made.op != Op::recv) continue;
    for (uint32_t to : followers(i)) {
      const Step& sent = graph_.step(to);
      const bool alone = nodes_[to].waits == 1u + (graph_.previous(to) != Graph::kNone);
      nodes_[to].fused = sends(sent.op) && alone && sent.src == made.dst && sent.chunk == made.chunk &&
                         sent.count == made.count && !(sent.flags & kMore);
    }
  }
}

void Work::pack_takes() {
  take_begin_.assign(graph_.size() + 1, 0);
  auto each = [&](auto f) {
    for (uint32_t i = 0; i < graph_.size(); i++)
      if (nodes_[i].taken_by != Graph::kNone) f(nodes_[i].taken_by, i);
  };
  each([&](uint32_t end, uint32_t) { take_begin_[end + 1]++; });
  std::partial_sum(take_begin_.begin(), take_begin_.end(), take_begin_.begin());
  takes_.resize(take_begin_.back());
  List at(take_begin_.begin(), take_begin_.end() - 1);
  each([&](uint32_t end, uint32_t receive) { takes_[at[end]++] = receive; });
}

}  // namespace plait::collectives
