// What each node of a graph does to whom, as far as its time depends on it: found once, for all segments.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/machine/graph.h"

namespace plait::collectives {

class Work {
 public:
  struct Node {
    uint32_t next = Graph::kNone;      // the node after it of the same stream and direction
    uint32_t taken_by = Graph::kNone;  // a receive: the node that has read its message when it is done
    int32_t rank = 0;
    uint32_t folds =
        0;  // operands, but the first, that are folded here; those inside of a chain fold nothing
    uint32_t waits = 0;   // nodes that it waits for: those that make or free its places, and the one before
    bool fused = false;   // a send of exactly what one step before it makes
    bool plain = false;   // a receive that puts its message into its place
    bool copies = false;  // a local copy
  };

  Work(const Graph& graph, size_t ranks);

  const Node& operator[](uint32_t node) const noexcept { return nodes_[node]; }
  // The nodes of a rank: from .first to before .second.
  std::pair<uint32_t, uint32_t> of_rank(int32_t rank) const noexcept {
    return {first_[size_t(rank)], first_[size_t(rank) + 1]};
  }
  // Nodes that wait for `node`, streams apart.
  std::span<const uint32_t> followers(uint32_t node) const noexcept {
    return list(follow_begin_, followers_, node);
  }
  // Receives whose messages have been read when `node` is done.
  std::span<const uint32_t> takes(uint32_t node) const noexcept { return list(take_begin_, takes_, node); }
  uint32_t messages() const noexcept { return messages_; }

 private:
  using List = std::vector<uint32_t>;
  static std::span<const uint32_t> list(const List& begin, const List& items, uint32_t node) noexcept {
    return std::span(items).subspan(begin[node], begin[node + 1] - begin[node]);
  }
  void classify(uint32_t node);
  void join_chains();
  void find_fused();
  void pack_followers();
  void pack_takes();

  const Graph& graph_;
  std::vector<Node> nodes_;
  List first_;
  List follow_begin_, followers_, take_begin_, takes_;
  uint32_t messages_ = 0;
};

}  // namespace plait::collectives
