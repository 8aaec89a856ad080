// Chips and the links between them, laid out for searches: rings, trees, places for jobs.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "topology/graph.h"
#include "topology/lattice.h"

namespace plait::topology {

inline constexpr uint32_t kMostFabricChips = 1u << 14;
inline constexpr uint32_t kMostFabricLinks = 1u << 20;

class Fabric {
 public:
  struct Edge {
    uint32_t a, b;           // a < b
    uint32_t count = 1;      // side by side
    double bytes_per_s = 0;  // of one of them, each way; 0: not known
  };

  // `up[c]`: chip c works. `is_free[c]`: and nobody has it. Edges of chips that do not work are left out.
  // Where the chips are a whole lattice, holes aside, pass it.
  Fabric(std::vector<bool> up, std::vector<bool> is_free, std::vector<Edge> edges, Lattice lattice = {});

  uint32_t chips() const noexcept { return uint32_t(up_.size()); }
  bool up(uint32_t chip) const noexcept { return up_[chip]; }
  bool is_free(uint32_t chip) const noexcept { return free_[chip]; }
  uint32_t ups() const noexcept { return ups_; }
  std::span<const Edge> edges() const noexcept { return edges_; }
  // Ascending.
  std::span<const uint32_t> neighbours(uint32_t chip) const noexcept {
    return {to_.data() + first_[chip], first_[chip + 1] - first_[chip]};
  }
  // The edges that lead to them, in the same order.
  std::span<const uint32_t> edges_of(uint32_t chip) const noexcept {
    return {edge_.data() + first_[chip], first_[chip + 1] - first_[chip]};
  }
  // An index into edges(); UINT32_MAX: none.
  uint32_t edge(uint32_t a, uint32_t b) const noexcept;
  bool joined(uint32_t a, uint32_t b) const noexcept { return edge(a, b) != UINT32_MAX; }

  const Lattice& lattice() const noexcept { return lattice_; }
  bool regular() const noexcept { return !lattice_.factors().empty(); }
  // A lattice without holes.
  bool whole() const noexcept { return whole_; }
  // All chips hang on one switch: any two are joined, by the ports that each has.
  bool switched = false;
  // A link of the lattice is gone.
  void mark_holed() noexcept { whole_ = false; }

 private:
  std::vector<bool> up_, free_;
  std::vector<Edge> edges_;
  std::vector<uint32_t> first_, to_, edge_;
  Lattice lattice_;
  uint32_t ups_ = 0;
  bool whole_ = false;
};

// The chips of a graph by index, and the links between them.
Result<Fabric> fabric_of(const Graph& graph);

}  // namespace plait::topology
