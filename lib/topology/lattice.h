// Chips in regular shapes: products of lines, rings, full meshes and hybrid cube meshes. Nothing is stored
// for a chip, so a fabric of millions costs nothing.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace plait::topology {

enum class FactorKind : uint8_t {
  line,       // 0-1-2-...
  cycle,      // a line whose ends are joined; three or more
  full,       // each with each
  cube_mesh,  // of eight: two full meshes of four, and a link from each chip to its like in the other
  switched,   // all by a switch, no links of their own
};

// One dimension: `size` chips joined like this in each line of the product along it.
struct Factor {
  FactorKind kind = FactorKind::line;
  uint32_t size = 1;
  double bytes_per_s = 0, latency_s = 0;  // of each link, each way
  bool operator==(const Factor&) const = default;
};

// Chips are numbered row by row: the last factor's coordinate counts fastest.
class Lattice {
 public:
  Lattice() = default;
  explicit Lattice(std::vector<Factor> factors);
  const std::vector<Factor>& factors() const noexcept { return factors_; }
  uint64_t size() const noexcept { return size_; }
  uint64_t stride(size_t factor) const noexcept { return strides_[factor]; }
  uint32_t coordinate(uint64_t chip, size_t factor) const noexcept {
    return uint32_t(chip / strides_[factor] % factors_[factor].size);
  }

  // Neighbours of a chip in one dimension, ascending, without those behind a switch.
  template <class F>
  void each_neighbour(uint64_t chip, size_t factor, F&& f) const {
    const Factor& d = factors_[factor];
    const uint32_t at = coordinate(chip, factor);
    const uint64_t zero = chip - at * strides_[factor];
    auto tell = [&](uint32_t to) { f(zero + to * strides_[factor]); };
    if (d.kind == FactorKind::full || d.kind == FactorKind::cube_mesh) {
      for (uint32_t to = 0; to < d.size; to++) {
        if (to == at) continue;
        if (d.kind == FactorKind::full || to / 4 == at / 4 || (to ^ at) == 4) tell(to);
      }
      return;
    }
    if (d.kind == FactorKind::switched) return;
    const bool wraps = d.kind == FactorKind::cycle;
    if (wraps && at + 1 == d.size) tell(0);
    if (at > 0) tell(at - 1);
    if (at + 1 < d.size) tell(at + 1);
    if (wraps && at == 0) tell(d.size - 1);
  }
  // The dimension along which two chips are neighbours; the number of factors where they are none.
  size_t joining(uint64_t a, uint64_t b) const noexcept;
  // "mesh 4x4", "torus 4x4x4", "hybrid cube mesh", "mesh 32x32 of full 4".
  std::string describe() const;

 private:
  std::vector<Factor> factors_;
  std::vector<uint64_t> strides_;
  uint64_t size_ = 1;
};

// The runs of factors that one word names, as [first, last): "mesh" of lines, "torus" of cycles, others
// alone.
std::vector<std::pair<size_t, size_t>> runs_of(const std::vector<Factor>& factors);
// "torus 4x4" of such a run.
std::string describe_run(const std::vector<Factor>& factors, std::pair<size_t, size_t> run);

}  // namespace plait::topology
