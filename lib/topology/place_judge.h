// How good a place is, and the best of those that a search meets.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "topology/place.h"

namespace plait::topology {

class Judge {
 public:
  Judge(const Fabric& fabric, bool closed, bool ordered)
      : fabric_(fabric), closed_(closed), ordered_(ordered), mark_(fabric.chips(), 0) {}

  // Keeps the chips where they are the best so far.
  void see(const std::vector<uint32_t>& chips) {
    const double rate = ordered_ ? slowest(chips) : 0;
    const uint32_t edge = free_beside(chips);
    if (!best_.empty() && (rate < rate_ || (rate == rate_ && edge >= edge_))) return;
    best_ = chips;
    rate_ = rate;
    edge_ = edge;
  }
  bool any() const { return !best_.empty(); }
  // Nothing can be better: no free chip beside it, and every link as fast as the fastest.
  bool perfect() const { return any() && edge_ == 0 && (!ordered_ || rate_ >= fastest()); }

  void tell(Placement& p) const {
    p.chips = best_;
    p.edge = edge_;
    p.inner = 0;
    for (const uint32_t a : best_) {
      for (const uint32_t b : best_) p.inner += a < b && fabric_.joined(a, b) ? 1 : 0;
    }
    p.bytes_per_s = ordered_ && rate_ < std::numeric_limits<double>::infinity() ? rate_ : 0;
  }

 private:
  double slowest(const std::vector<uint32_t>& chips) const {
    double rate = std::numeric_limits<double>::infinity();
    for (size_t i = closed_ ? 0 : 1; i < chips.size(); i++) {
      const uint32_t e = fabric_.edge(chips[i], chips[i == 0 ? chips.size() - 1 : i - 1]);
      if (e == UINT32_MAX) continue;
      const Fabric::Edge& edge = fabric_.edges()[e];
      rate = std::min(rate, edge.bytes_per_s * edge.count);
    }
    return rate;
  }
  double fastest() const {
    double rate = 0;
    for (const auto& e : fabric_.edges()) rate = std::max(rate, e.bytes_per_s * e.count);
    return rate;
  }
  uint32_t free_beside(const std::vector<uint32_t>& chips) {
    turn_ += 2;
    for (const uint32_t c : chips) mark_[c] = turn_;
    uint32_t count = 0;
    for (const uint32_t c : chips) {
      for (const uint32_t to : fabric_.neighbours(c)) {
        if (mark_[to] >= turn_ || !fabric_.is_free(to)) continue;
        mark_[to] = turn_ + 1;
        count++;
      }
    }
    return count;
  }

  const Fabric& fabric_;
  const bool closed_, ordered_;
  std::vector<uint32_t> mark_, best_;
  uint32_t turn_ = 0, edge_ = 0;
  double rate_ = 0;
};

}  // namespace plait::topology
