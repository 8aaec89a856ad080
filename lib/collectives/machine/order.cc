#include "collectives/machine/order.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>

namespace plait::collectives {

namespace {

// Lists of numbers, one for each key, packed: those of key k are items[begin[k]] .. items[begin[k + 1]].
// `each` calls its argument with every (key, item), twice over.
template <class Each>
void pack(uint32_t keys, std::vector<uint32_t>& begin, std::vector<uint32_t>& items, Each each) {
  begin.assign(size_t(keys) + 1, 0);
  each([&](uint32_t key, uint32_t) { begin[key + 1]++; });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  items.resize(begin.back());
  std::vector<uint32_t> next(begin.begin(), begin.end() - 1);
  each([&](uint32_t key, uint32_t item) { items[next[key]++] = item; });
}

uint32_t find(std::vector<uint32_t>& parent, uint32_t x) {
  while (parent[x] != x) x = parent[x] = parent[parent[x]];
  return x;
}

}  // namespace

Result<Order> Order::make(const Graph& graph, uint32_t credits) {
  Order order(graph);
  order.form_events(credits);
  order.sort(credits);
  auto stuck =
      std::find_if(order.waits_.begin(), order.waits_.end(), [](uint32_t waits) { return waits > 0; });
  if (stuck == order.waits_.end()) return order;
  auto text = order.circle(credits, uint32_t(stuck - order.waits_.begin()));
  return Status(Code::invalid, fmt::format("deadlock with {} credits a stream: {}", credits, text));
}

void Order::form_events(uint32_t credits) {
  uint32_t nodes = graph_->size();
  std::vector<uint32_t> parent(nodes);
  std::iota(parent.begin(), parent.end(), 0u);
  auto unite = [&](uint32_t a, uint32_t b) { parent[find(parent, a)] = find(parent, b); };
  graph_->each_link(unite);
  for (uint32_t i = 0; credits == 0 && i < nodes; i++) {
    if (graph_->match(i) < i) unite(i, graph_->match(i));
  }
  std::vector<uint32_t> number(nodes, Graph::kNone);
  uint32_t events = 0;
  event_.resize(nodes);
  for (uint32_t i = 0; i < nodes; i++) {
    uint32_t& event = number[find(parent, i)];
    if (event == Graph::kNone) event = events++;
    event_[i] = event;
  }
  pack(events, begin_, members_, [&](auto add) {
    for (uint32_t i = 0; i < nodes; i++) add(event_[i], i);
  });
}

// Inside a chain a fold waits for its operands, which is what the event does itself. A receive that waits for
// another step of its own event, because of its place or its stream, would wait for ever.
bool Order::waits_inside(uint32_t node, uint32_t other) const {
  return event_[node] == event_[other] && folds(graph_->step(node).op) &&
         &graph_->program(node) == &graph_->program(other) && graph_->previous(node) != other;
}

void Order::sort(uint32_t credits) {
  auto events = uint32_t(begin_.size() - 1);
  std::vector<uint32_t> begin, followers;
  pack(events, begin, followers, [&](auto add) {
    for (uint32_t i = 0; i < graph_->size(); i++) {
      graph_->each_wait(i, credits, [&](uint32_t other) {
        if (!waits_inside(i, other)) add(event_[other], event_[i]);
      });
    }
  });
  waits_.assign(events, 0);
  for (uint32_t event : followers) waits_[event]++;
  sequence_.reserve(events);
  for (uint32_t e = 0; e < events; e++) {
    if (waits_[e] == 0) sequence_.push_back(e);
  }
  for (uint32_t done = 0; done < sequence_.size(); done++) {
    uint32_t event = sequence_[done];
    for (uint32_t k = begin[event]; k < begin[event + 1]; k++) {
      if (--waits_[followers[k]] == 0) sequence_.push_back(followers[k]);
    }
  }
}

// A node that `node` waits for and that never happens; kNone when there is none.
uint32_t Order::blocking(uint32_t node, uint32_t credits) const {
  uint32_t found = Graph::kNone;
  graph_->each_wait(node, credits, [&](uint32_t other) {
    if (waits_[event_[other]] > 0 && !waits_inside(node, other)) found = other;
  });
  return found;
}

// A node of a stuck event with what it waits for.
Order::Hop Order::hop_from(uint32_t event, uint32_t credits) const {
  for (uint32_t node : members(event)) {
    uint32_t other = blocking(node, credits);
    if (other != Graph::kNone) return {node, other};
  }
  return {members(event).front(), members(event).front()};  // not reached: the event is stuck
}

// Follows what a stuck event waits for until that comes round.
std::string Order::circle(uint32_t credits, uint32_t event) const {
  std::vector<Hop> hops;
  std::vector<size_t> seen(begin_.size(), SIZE_MAX);
  for (; seen[event] == SIZE_MAX; event = event_[hops.back().other]) {
    seen[event] = hops.size();
    hops.push_back(hop_from(event, credits));
  }
  hops.erase(hops.begin(), hops.begin() + std::ptrdiff_t(seen[event]));
  constexpr size_t kShown = 8;
  std::string text = graph_->describe(hops[0].node);
  for (size_t i = 0; i < std::min(kShown, hops.size()); i++) {
    if (i > 0 && hops[i].node != hops[i - 1].other) {
      text += ", which is one event with " + graph_->describe(hops[i].node);
    }
    text += (i > 0 ? ", which waits for " : " waits for ") + graph_->describe(hops[i].other);
  }
  return hops.size() <= kShown ? text : text + fmt::format(", and so on for {} more", hops.size() - kShown);
}

}  // namespace plait::collectives
