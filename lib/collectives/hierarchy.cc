#include "collectives/hierarchy.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>

namespace plait::collectives {

namespace {

constexpr int64_t kMostRanks = 1 << 24;  // chunks and slots are numbered with 29 bits

}  // namespace

int Hierarchy::group_of(int level, int unit) const noexcept {
  const Level& l = levels_[size_t(level)];
  if (l.begin.empty()) return unit / l.largest;
  return int(std::upper_bound(l.begin.begin(), l.begin.end(), unit) - l.begin.begin()) - 1;
}

// Levels are added from the outermost one on: `groups` is how many the level above asks for.
Status Hierarchy::add_level(const std::vector<int>& sizes, int groups) {
  if (sizes.size() != 1 && sizes.size() != size_t(groups)) {
    return {Code::invalid,
            fmt::format("a level has {} groups, and {} sizes are given", groups, sizes.size())};
  }
  if (std::ranges::any_of(sizes, [](int size) { return size < 1; }))
    return {Code::invalid, "a group has no members"};
  Level level{.largest = *std::ranges::max_element(sizes), .groups = groups, .begin = {}};
  bool alike = std::ranges::all_of(sizes, [&](int size) { return size == level.largest; });
  int64_t units = int64_t{level.largest} * groups;
  if (!alike) units = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (units > kMostRanks) return {Code::invalid, fmt::format("more than {} ranks", kMostRanks)};
  if (!alike) {
    level.begin.assign(1, 0);
    for (int size : sizes) level.begin.push_back(level.begin.back() + size);
  }
  levels_.insert(levels_.begin(), std::move(level));
  n_ = int(units);
  return {};
}

Status Hierarchy::set_order(std::vector<int32_t> order) {
  if (order.empty()) return {};
  if (order.size() != size_t(n_)) {
    return {Code::invalid, fmt::format("there are {} ranks, and an order of {}", n_, order.size())};
  }
  positions_.assign(order.size(), -1);
  bool natural = true;
  for (int32_t position = 0; position < n_; position++) {
    int32_t rank = order[size_t(position)];
    if (rank < 0 || rank >= n_ || positions_[size_t(rank)] >= 0) {
      return {Code::invalid, fmt::format("the order of ranks names rank {} twice, or there is none", rank)};
    }
    positions_[size_t(rank)] = position;
    natural = natural && rank == position;
  }
  if (!natural) order_ = std::move(order);
  return {};
}

Result<Hierarchy> Hierarchy::make(std::vector<std::vector<int>> sizes, std::vector<int32_t> order) {
  Hierarchy hierarchy;
  for (size_t l = sizes.size(); l-- > 0;) PLAIT_TRY(hierarchy.add_level(sizes[l], hierarchy.n_));
  PLAIT_TRY(hierarchy.set_order(std::move(order)));
  return hierarchy;
}

}  // namespace plait::collectives
