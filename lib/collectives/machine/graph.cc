#include "collectives/machine/graph.h"

#include <algorithm>

#include "collectives/cells.h"
#include "collectives/chain.h"

namespace plait::collectives {

// One end of a message. Source, destination and lane in one word make the sort, which is most of the work,
// cheap.
struct Graph::End {
  uint64_t stream;
  uint32_t node;

  static uint64_t stream_of(int32_t from, int32_t to, uint32_t lane) noexcept {
    return uint64_t(from) << 40 | uint64_t(to) << 16 | lane;  // fewer than 2^24 ranks
  }
  friend auto operator<=>(const End&, const End&) = default;
};

namespace {

// Whether the two messages name the same chunks in the same order, however cut into steps.
bool same_chunks(const Program& a, uint32_t i, const Program& b, uint32_t j) {
  uint32_t a_end = message_end(a, i), b_end = message_end(b, j), a_done = 0, b_done = 0;
  while (i < a_end && j < b_end) {
    const Step &s = a.steps[i], &t = b.steps[j];
    if (s.chunk + a_done != t.chunk + b_done) return false;
    uint32_t count = std::min(s.count - a_done, t.count - b_done);
    a_done += count, b_done += count;
    if (a_done == s.count) i++, a_done = 0;
    if (b_done == t.count) j++, b_done = 0;
  }
  return i == a_end && j == b_end;
}

}  // namespace

Result<Graph> Graph::make(std::span<const Program> programs) {
  Graph graph(programs);
  graph.add_nodes();
  if (Status status = graph.link_chains(); !status.ok()) return status;
  if (Status status = graph.match_streams(); !status.ok()) return status;
  return graph;
}

void Graph::add_nodes() {
  size_t steps = 0;
  for (const Program& p : programs_) steps += p.steps.size();
  nodes_.reserve(steps);
  node_of_step_.resize(programs_.size());
  for (size_t r = 0; r < programs_.size(); r++) {
    const Program& p = programs_[r];
    auto count = uint32_t(p.steps.size());
    base_.push_back(size());
    bool joins = std::any_of(p.steps.begin(), p.steps.end(), [](const Step& s) { return s.flags & kMore; });
    if (joins) node_of_step_[r].reserve(count);
    for (uint32_t first = 0; first < count;) {
      uint32_t end = message_end(p, first);
      if (joins) node_of_step_[r].resize(end, size());
      nodes_.push_back({.rank = int32_t(r), .step = first});
      first = end;
    }
  }
}

Status Graph::link_chains() {
  for (size_t r = 0; r < programs_.size(); r++) {
    auto ends = chain_ends(programs_[r]);
    if (!ends.ok()) return ends.status();
    for (uint32_t i = 0; i < ends->size(); i++) {
      if ((*ends)[i] != i) links_.push_back({at(r, i), at(r, (*ends)[i])});
    }
  }
  return {};
}

Status Graph::match_streams() {
  std::vector<End> sent, received;
  for (uint32_t i = 0; i < size(); i++) {
    const Step& s = step(i);
    if (sends(s.op)) sent.push_back({End::stream_of(nodes_[i].rank, s.peer, s.lane), i});
    if (receives(s.op)) received.push_back({End::stream_of(s.peer, nodes_[i].rank, s.lane), i});
  }
  std::sort(sent.begin(), sent.end());
  std::sort(received.begin(), received.end());
  for (auto* ends : {&sent, &received}) {
    for (size_t i = 1; i < ends->size(); i++) {
      const End &before = (*ends)[i - 1], &now = (*ends)[i];
      if (before.stream == now.stream) nodes_[now.node].previous = before.node;
    }
  }
  // Sorted alike, so that the first difference is the first message that is not met.
  size_t both = std::min(sent.size(), received.size());
  for (size_t i = 0; i < both; i++) PLAIT_TRY(meet(sent[i], received[i]));
  if (sent.size() > both) return {Code::invalid, describe(sent[both].node) + ": no receive meets this send"};
  if (received.size() > both)
    return {Code::invalid, describe(received[both].node) + ": no send meets this receive"};
  return {};
}

Status Graph::meet(const End& send, const End& receive) {
  if (send.stream < receive.stream)
    return {Code::invalid, describe(send.node) + ": no receive meets this send"};
  if (receive.stream < send.stream) {
    return {Code::invalid, describe(receive.node) + ": no send meets this receive"};
  }
  if (!same_chunks(program(send.node), first(send.node), program(receive.node), first(receive.node))) {
    return {Code::invalid, describe(send.node) + " meets " + describe(receive.node) + ": other chunks"};
  }
  if ((step(send.node).src.in() == Buffer::wire) != (step(receive.node).dst.in() == Buffer::wire)) {
    return {Code::invalid, describe(send.node) + " meets " + describe(receive.node) +
                               ": one is of a wire, the other of a value"};
  }
  nodes_[send.node].match = receive.node;
  nodes_[receive.node].match = send.node;
  return {};
}

}  // namespace plait::collectives
