#include "runtime/pods.h"

#include <algorithm>
#include <numeric>

#include "topology/recognize.h"
#include "topology/rings.h"
#include "topology/trees.h"

namespace plait::runtime {
namespace {

using collectives::Pod;

// Steps of a search for rings: a tenth of a second at most. Every rank does the same ones.
constexpr uint64_t kEffort = 300'000;
// Of more chips nothing is searched: regular shapes have their rings without.
constexpr uint32_t kMostSearched = 256;

// Ranks by chip, each chip's by number: chip i of the fabric has ranks_on[i].
struct Chips {
  std::vector<int32_t> numbers;  // ascending
  std::vector<std::vector<int32_t>> ranks_on;
};

Chips chips_of(const ChipGroup& group) {
  Chips all;
  all.numbers = group.chips;
  std::ranges::sort(all.numbers);
  all.numbers.erase(std::unique(all.numbers.begin(), all.numbers.end()), all.numbers.end());
  all.ranks_on.resize(all.numbers.size());
  for (size_t i = 0; i < group.ranks.size(); i++) {
    const auto at = std::ranges::lower_bound(all.numbers, group.chips[i]) - all.numbers.begin();
    all.ranks_on[size_t(at)].push_back(group.ranks[i]);
  }
  return all;
}

// The chips that have ranks, and the links between them.
topology::Fabric fabric_of(const ChipGroup& group, const Chips& chips) {
  std::vector<topology::Fabric::Edge> edges;
  auto index = [&](uint32_t chip) {
    const auto at = std::ranges::lower_bound(chips.numbers, int32_t(chip));
    return at == chips.numbers.end() || *at != int32_t(chip) ? topology::kNone
                                                             : uint32_t(at - chips.numbers.begin());
  };
  std::vector<std::pair<uint32_t, uint32_t>> seen;
  for (const transport::ChipLink& link : group.links) {
    const uint32_t a = index(link.a), b = index(link.b);
    if (a == topology::kNone || b == topology::kNone) continue;
    seen.emplace_back(a, b);
    edges.push_back({a, b, link.count, double(link.mbps) * 125e3 / link.count});
  }
  std::ranges::sort(seen);
  if (std::ranges::adjacent_find(seen) != seen.end()) edges.clear();  // said twice: nothing is believed
  const std::vector<bool> up(chips.numbers.size(), true);
  return topology::Fabric(up, up, std::move(edges));
}

// In the order in which a walk around the tree comes to them: each link carries one step of a ring each way,
// or is passed over.
std::vector<uint32_t> walk(const topology::Tree& tree) {
  std::vector<std::vector<uint32_t>> children(tree.parent.size());
  for (uint32_t chip = 0; chip < tree.parent.size(); chip++) {
    if (tree.parent[chip] != topology::kNone) children[tree.parent[chip]].push_back(chip);
  }
  std::vector<uint32_t> order, open{tree.root};
  while (!open.empty()) {
    const uint32_t chip = open.back();
    open.pop_back();
    order.push_back(chip);
    open.insert(open.end(), children[chip].rbegin(), children[chip].rend());
  }
  return order;
}

std::vector<int32_t> ranks_of(const std::vector<uint32_t>& chips, const Chips& all) {
  std::vector<int32_t> ranks;
  for (uint32_t chip : chips) ranks.insert(ranks.end(), all.ranks_on[chip].begin(), all.ranks_on[chip].end());
  return ranks;
}

std::vector<std::vector<int32_t>> parents_in(const topology::DoubleTree& trees, const Pod& pod,
                                             const Chips& chips) {
  std::vector<std::vector<int32_t>> all;
  auto place = [&](uint32_t chip) {
    return int32_t(std::ranges::find(pod.ranks, chips.ranks_on[chip].front()) - pod.ranks.begin());
  };
  for (const topology::Tree& tree : trees.trees) {
    std::vector<int32_t>& parents = all.emplace_back(pod.ranks.size(), -1);
    for (uint32_t chip = 0; chip < tree.parent.size(); chip++) {
      if (tree.parent[chip] != topology::kNone) parents[size_t(place(chip))] = place(tree.parent[chip]);
    }
  }
  return all;
}

void find_rings(const topology::Fabric& fabric, const Chips& chips, Pod& pod) {
  const auto lattice = topology::recognize(fabric);
  topology::Rings rings;
  if (lattice) {
    const topology::Fabric regular(std::vector<bool>(fabric.chips(), true),
                                   std::vector<bool>(fabric.chips(), true),
                                   {fabric.edges().begin(), fabric.edges().end()}, *lattice);
    rings = topology::rings(regular, kEffort);
  } else if (fabric.chips() <= kMostSearched) {
    rings = topology::rings(fabric, kEffort);
  }
  const auto trees = fabric.chips() <= kMostSearched ? topology::double_tree(fabric) : topology::DoubleTree();
  std::vector<uint32_t> order(fabric.chips());
  std::iota(order.begin(), order.end(), 0);
  std::string by = "no links between all its chips are known: in the order of their numbers";
  if (!rings.cycles.empty()) {
    order = rings.cycles.front();
    const size_t found = rings.cycles.size();
    by = found == 1 ? "a ring of links" : std::to_string(found) + " rings that share no link";
  } else if (!trees.trees.empty()) {
    order = walk(trees.trees.front());
    by = "no ring of links, around a tree of them";
  }
  pod.ranks = ranks_of(order, chips);
  const bool one_each = chips.numbers.size() == pod.ranks.size();
  if (one_each) {
    for (const topology::Cycle& cycle : rings.cycles) pod.rings.push_back(ranks_of(cycle, chips));
    pod.trees = parents_in(trees, pod, chips);
  }
  if (lattice && one_each) {
    std::vector<uint32_t> rows(fabric.chips());
    std::iota(rows.begin(), rows.end(), 0);
    pod.grid = ranks_of(rows, chips);
    for (const topology::Factor& f : lattice->factors()) pod.grid_sizes.push_back(int32_t(f.size));
  }
  pod.about = (lattice ? lattice->describe() + ", " : "") + by;
}

// Of the slowest, as any rank tells; 0: none is known.
void slower(double& rate, double other) {
  if (other > 0) rate = rate > 0 ? std::min(rate, other) : other;
}

}  // namespace

Pod pod_of(const ChipGroup& group) {
  Pod pod;
  const Chips chips = chips_of(group);
  find_rings(fabric_of(group, chips), chips, pod);
  return pod;
}

void seat_networks(const Reach& reach, const std::vector<NetworkCard>& cards, collectives::Seating& seating) {
  const size_t networks = cards.front().networks.size();
  for (const NetworkCard& card : cards) {
    for (size_t i = 0; i < networks; i++)
      slower(i < reach.before_shm ? seating.chip_link_Bps : seating.link_Bps, card.networks[i].bandwidth_Bps);
  }
  // Of several networks of chips the first that joins anybody: what another one joins is no level.
  size_t of = 0;
  while (of < reach.before_shm && reach.groups[of].empty()) of++;
  if (of == reach.before_shm) return;
  std::vector<int32_t> number(cards.size(), -1);
  for (const ChipGroup& group : reach.groups[of]) {
    seating.pods.push_back(pod_of(group));
    for (int32_t rank : group.ranks) number[size_t(rank)] = group.ranks.front();
  }
  int32_t next = 0;
  for (size_t r = 0; r < cards.size(); r++) {
    const int32_t first = number[r];
    const bool known = first >= 0 && size_t(first) < r;
    seating.pod_of.push_back(known ? seating.pod_of[size_t(first)] : next++);
  }
}

}  // namespace plait::runtime
