#include "topology/recognize.h"

#include <algorithm>

namespace plait::topology {
namespace {

constexpr size_t kMostDimensions = 4;

// Along each dimension the ends are joined, or not, as the links of chip 0 tell.
Lattice shaped(const Fabric& fabric, const std::vector<uint32_t>& sizes) {
  std::vector<Factor> factors;
  uint64_t stride = fabric.chips();
  for (uint32_t size : sizes) {
    stride /= size;
    const bool cycle = size > 2 && fabric.joined(0, uint32_t(stride * (size - 1)));
    factors.push_back({cycle ? FactorKind::cycle : FactorKind::line, size, 0, 0});
  }
  return Lattice(std::move(factors));
}

bool is_that(const Fabric& fabric, const Lattice& lattice) {
  size_t links = 0;
  bool all = true;
  for (uint32_t chip = 0; chip < fabric.chips() && all; chip++) {
    for (size_t f = 0; f < lattice.factors().size(); f++) {
      lattice.each_neighbour(chip, f, [&](uint64_t to) {
        if (to < chip) return;
        links++;
        all = all && fabric.joined(chip, uint32_t(to));
      });
    }
  }
  return all && links == fabric.edges().size();
}

// Sizes of `dimensions` factors whose product is `chips`, with the least spread first.
void factorize(uint32_t chips, size_t dimensions, std::vector<uint32_t>& sizes,
               std::vector<std::vector<uint32_t>>& all) {
  if (dimensions == 1) {
    sizes.push_back(chips);
    if (chips > 1) all.push_back(sizes);
    sizes.pop_back();
    return;
  }
  for (uint32_t size = 2; size <= chips / 2; size++) {
    if (chips % size != 0) continue;
    sizes.push_back(size);
    factorize(chips / size, dimensions - 1, sizes, all);
    sizes.pop_back();
  }
}

}  // namespace

std::optional<Lattice> recognize(const Fabric& fabric) {
  if (fabric.chips() > kMostRecognized || fabric.ups() != fabric.chips()) return {};
  auto spread = [](const std::vector<uint32_t>& sizes) {
    const auto [least, most] = std::ranges::minmax(sizes);
    return most - least;
  };
  for (size_t dimensions = 2; dimensions <= kMostDimensions; dimensions++) {
    std::vector<uint32_t> sizes;
    std::vector<std::vector<uint32_t>> all;
    factorize(fabric.chips(), dimensions, sizes, all);
    std::ranges::stable_sort(all, {}, spread);
    for (const auto& one : all) {
      Lattice lattice = shaped(fabric, one);
      if (is_that(fabric, lattice)) return lattice;
    }
  }
  return {};
}

}  // namespace plait::topology
