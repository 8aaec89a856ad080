#include "collectives/choice/layers.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace plait::collectives {
namespace {

// Whether ranks that are together in `inner` are so in `outer`; the first that are not, else -1.
int32_t parted_by(const std::vector<int32_t>& inner, const std::vector<int32_t>& outer) {
  std::map<int32_t, int32_t> in;
  for (size_t r = 0; r < inner.size(); r++) {
    if (in.try_emplace(inner[r], outer[r]).first->second != outer[r]) return int32_t(r);
  }
  return -1;
}

size_t groups_in(const std::vector<int32_t>& group_of) {
  return size_t(1 + *std::ranges::max_element(group_of));
}

// Ranks of the same numbers in both are one group; numbers follow the least rank.
class Stack {
 public:
  explicit Stack(int32_t ranks) : alone_(size_t(ranks)) { std::iota(alone_.begin(), alone_.end(), 0); }
  const std::vector<int32_t>& top() const {
    return layers.list.empty() ? alone_ : layers.list.back().group_of;
  }
  // Puts `group_of` on top where it joins groups. False: it does not hold the groups below whole.
  bool add(LinkClass links, const std::vector<int32_t>& group_of) {
    if (parted_by(top(), group_of) >= 0) return false;
    if (groups_in(group_of) < groups_in(top())) layers.list.push_back({links, group_of});
    return true;
  }
  Layers layers;

 private:
  std::vector<int32_t> alone_;
};

// A pod that is in parts on several hosts.
std::string left_out(const Seating& seating) {
  const int32_t rank = parted_by(seating.pod_of, seating.host_of);
  return fmt::format(
      "hosts are no level: the pod of rank {} is on several of them, and not all of a host is in one pod",
      rank);
}

// Of each rank its place in its pod's order; ranks that are in no pod of two stand first.
std::vector<int32_t> places_of(const Seating& seating, PodOrder order) {
  std::vector<int32_t> places(size_t(seating.ranks), 0);
  for (const Pod& pod : seating.pods) {
    const auto& ranks = order == PodOrder::grid ? pod.grid : pod.ranks;
    for (size_t i = 0; i < ranks.size(); i++)
      places[size_t(ranks[i])] = order == PodOrder::natural ? 0 : int32_t(i);
  }
  return places;
}

std::vector<int32_t> order_of(const Layers& layers, const std::vector<int32_t>& places) {
  std::vector<int32_t> order(places.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int32_t rank) { return places[size_t(rank)]; });
  for (const Layer& layer : layers.list)
    std::ranges::stable_sort(order, {}, [&](int32_t rank) { return layer.group_of[size_t(rank)]; });
  return order;
}

// Of how many units of the layer below (ranks, at first) each group consists, in the order of positions.
std::vector<std::vector<int>> sizes_of(const Layers& layers, const std::vector<int32_t>& order) {
  std::vector<std::vector<int>> sizes;
  for (size_t l = 0; l < layers.list.size(); l++) {
    std::vector<int>& of = sizes.emplace_back();
    int32_t group = -1, unit = -1;
    for (int32_t rank : order) {
      const int32_t in = layers.list[l].group_of[size_t(rank)];
      const int32_t below = l == 0 ? rank : layers.list[l - 1].group_of[size_t(rank)];
      if (in != group) of.push_back(0);
      if (in != group || below != unit) of.back()++;
      group = in;
      unit = below;
    }
  }
  return sizes;
}

// How many dimensions the pods have, alike; 0: one has none, or another number of them, or a rank is in none.
size_t dimensions_of(const Layers& layers, const Seating& seating) {
  if (!layers.pods || seating.pods.empty()) return 0;
  size_t ranks = 0;
  for (const Pod& pod : seating.pods) {
    if (pod.grid_sizes.size() != seating.pods.front().grid_sizes.size()) return 0;
    ranks += pod.grid.size();
  }
  return ranks == size_t(seating.ranks) ? seating.pods.front().grid_sizes.size() : 0;
}

// The innermost level becomes one a dimension: of a grid of 2x4 two rows of 4, and one column of 2 rows.
void split_grids(const std::vector<int32_t>& order, const Seating& seating, size_t dimensions,
                 std::vector<std::vector<int>>& sizes) {
  std::vector<std::vector<int>> levels(dimensions);
  std::vector<const Pod*> of(order.size(), nullptr);
  for (const Pod& pod : seating.pods) of[size_t(pod.grid.front())] = &pod;
  for (int32_t rank : order) {
    const Pod* pod = of[size_t(rank)];
    if (pod == nullptr) continue;  // not the first of its pod
    int groups = int(pod->grid.size());
    for (size_t l = 0; l < dimensions; l++) {
      const int size = pod->grid_sizes[dimensions - 1 - l];
      groups /= size;
      levels[l].insert(levels[l].end(), size_t(groups), size);
    }
  }
  sizes.erase(sizes.begin());
  sizes.insert(sizes.begin(), levels.begin(), levels.end());
}

}  // namespace

Layers layers_of(const Seating& seating) {
  const std::vector<int32_t> one(size_t(seating.ranks), 0);
  const std::vector<int32_t>& hosts = seating.host_of.empty() ? one : seating.host_of;
  Stack stack(seating.ranks);
  if (!seating.pods.empty()) stack.add(LinkClass::chips, seating.pod_of);
  stack.layers.pods = !stack.layers.list.empty();
  // A pod of whole hosts joins all that they do.
  const bool wider = stack.layers.pods && parted_by(hosts, seating.pod_of) < 0;
  if (!wider && !stack.add(LinkClass::inside, hosts)) stack.layers.note = left_out(seating);
  stack.add(groups_in(hosts) > 1 ? LinkClass::between : LinkClass::inside, one);
  return stack.layers;
}

Seated seat_in(const Layers& layers, const Seating& seating, PodOrder by) {
  Seated seated;
  const size_t dimensions = by == PodOrder::grid ? dimensions_of(layers, seating) : 0;
  if (by == PodOrder::grid && dimensions < 2) return seated;
  const std::vector<int32_t> order = order_of(layers, places_of(seating, by));
  auto sizes = sizes_of(layers, order);
  for (const Layer& layer : layers.list) seated.links.push_back(layer.links);
  if (dimensions > 0) {
    split_grids(order, seating, dimensions, sizes);
    seated.links.insert(seated.links.begin(), dimensions - 1, LinkClass::chips);
  }
  auto made = Hierarchy::make(std::move(sizes), order);
  if (made.ok()) seated.hierarchy = std::make_shared<const Hierarchy>(std::move(*made));
  return seated;
}

}  // namespace plait::collectives
