#include "topology/trees.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <deque>

namespace plait::topology {
namespace {

using Ends = std::pair<uint32_t, uint32_t>;

// Two forests with as many links in all as two forests can have (matroid union): a link that fits neither
// pushes others from one to the other until one fits.
class TwoForests {
 public:
  TwoForests(uint32_t chips, std::vector<Ends> links)
      : links_(std::move(links)), owner_(links_.size(), kNobody), near_{Near(chips), Near(chips)} {}

  void add(uint32_t link, uint8_t wish) {
    cause_.assign(links_.size(), {kNone, kNobody});
    std::vector<bool> seen(links_.size(), false);
    std::deque<uint32_t> queue{link};
    seen[link] = true;
    while (!queue.empty()) {
      const uint32_t e = queue.front();
      queue.pop_front();
      for (uint8_t k = 0; k < 2; k++) {
        const uint8_t forest = k ^ wish;
        if (owner_[e] == forest) continue;
        const std::vector<uint32_t> way = path(forest, links_[e]);
        if (way.empty()) return settle(e, forest);
        for (const uint32_t other : way) {
          if (seen[other]) continue;
          seen[other] = true;
          cause_[other] = {e, forest};
          queue.push_back(other);
        }
      }
    }
  }
  std::vector<uint32_t> of(uint8_t forest) const {
    std::vector<uint32_t> all;
    for (uint32_t i = 0; i < links_.size(); i++) {
      if (owner_[i] == forest) all.push_back(i);
    }
    return all;
  }

 private:
  static constexpr uint8_t kNobody = 2;
  using Near = std::vector<std::vector<uint32_t>>;  // links of a forest at each chip
  struct Cause {
    uint32_t link;
    uint8_t forest;
  };

  // Link e goes to `forest`, where there is room; what it leaves has room for what wanted there, and so on.
  void settle(uint32_t e, uint8_t forest) {
    for (;;) {
      const Cause cause = cause_[e];
      put(e, forest);
      if (cause.link == kNone) return;
      e = cause.link;
      forest = cause.forest;
    }
  }
  void put(uint32_t e, uint8_t forest) {
    for (const uint32_t end : {links_[e].first, links_[e].second}) {
      if (owner_[e] != kNobody) std::erase(near_[owner_[e]][end], e);
      near_[forest][end].push_back(e);
    }
    owner_[e] = forest;
  }
  // The links that join the ends already; empty: none do.
  std::vector<uint32_t> path(uint8_t forest, Ends ends) const {
    const Near& near = near_[forest];
    std::vector<uint32_t> back(near.size(), kNone), way, queue{ends.first};
    for (size_t at = 0; at < queue.size(); at++) {
      const uint32_t c = queue[at];
      if (c == ends.second) break;
      for (const uint32_t e : near[c]) {
        const uint32_t to = links_[e].first == c ? links_[e].second : links_[e].first;
        if (to == ends.first || back[to] != kNone) continue;
        back[to] = e;
        queue.push_back(to);
      }
    }
    for (uint32_t c = ends.second; back[c] != kNone;
         c = links_[way.back()].first ^ links_[way.back()].second ^ c)
      way.push_back(back[c]);
    return way;
  }

  std::vector<Ends> links_;
  std::vector<uint8_t> owner_;
  Near near_[2];
  std::vector<Cause> cause_;
};

std::vector<uint32_t> distances(const std::vector<std::vector<uint32_t>>& near, uint32_t from,
                                std::vector<uint32_t>* parents = nullptr) {
  std::vector<uint32_t> distance(near.size(), kNone), queue{from};
  distance[from] = 0;
  if (parents != nullptr) parents->assign(near.size(), kNone);
  for (size_t at = 0; at < queue.size(); at++) {
    for (const uint32_t to : near[queue[at]]) {
      if (distance[to] != kNone) continue;
      distance[to] = distance[queue[at]] + 1;
      if (parents != nullptr) (*parents)[to] = queue[at];
      queue.push_back(to);
    }
  }
  return distance;
}

// Of a tree, the chip from which the farthest is nearest, as its root.
Tree root_at_centre(const std::vector<std::vector<uint32_t>>& near, uint32_t any) {
  auto farthest = [](const std::vector<uint32_t>& distance) {
    uint32_t best = 0;
    for (uint32_t c = 0; c < distance.size(); c++) {
      if (distance[c] != kNone && (distance[best] == kNone || distance[c] > distance[best])) best = c;
    }
    return best;
  };
  const uint32_t one = farthest(distances(near, any));
  std::vector<uint32_t> parents;
  const std::vector<uint32_t> distance = distances(near, one, &parents);
  uint32_t centre = farthest(distance);
  for (uint32_t steps = distance[centre] / 2; steps > 0; steps--) centre = parents[centre];
  Tree tree;
  tree.root = centre;
  for (const uint32_t d : distances(near, centre, &tree.parent)) {
    if (d != kNone) tree.depth = std::max(tree.depth, d);
  }
  return tree;
}

// Links in the order in which a search by breadth meets them, so that early trees are shallow.
std::vector<uint32_t> by_breadth(const Fabric& f, uint32_t root) {
  std::vector<uint32_t> order, queue{root};
  std::vector<bool> seen(f.chips(), false), taken(f.edges().size(), false);
  seen[root] = true;
  for (size_t at = 0; at < queue.size(); at++) {
    const auto near = f.neighbours(queue[at]);
    for (size_t i = 0; i < near.size(); i++) {
      const uint32_t e = f.edges_of(queue[at])[i];
      if (!taken[e]) order.push_back(e), taken[e] = true;
      if (!seen[near[i]]) seen[near[i]] = true, queue.push_back(near[i]);
    }
  }
  return order;
}

// The chips behind a switch in the shape of binary trees: one is the other, turned so that inner chips are
// leaves.
DoubleTree of_switch(const Fabric& f) {
  std::vector<uint32_t> chips;
  for (uint32_t c = 0; c < f.chips(); c++) {
    if (f.up(c)) chips.push_back(c);
  }
  DoubleTree result;
  const uint32_t n = uint32_t(chips.size());
  for (const bool turned : {false, true}) {
    Tree tree;
    tree.parent.assign(f.chips(), kNone);
    auto chip = [&](uint32_t i) { return chips[turned ? n - 1 - i : i]; };
    for (uint32_t i = 1; i < n; i++) tree.parent[chip(i)] = chip((i - 1) / 2);
    for (uint32_t i = n; i > 1; i /= 2) tree.depth++;
    tree.root = chip(0);
    result.trees.push_back(std::move(tree));
  }
  return result;
}

}  // namespace

DoubleTree double_tree(const Fabric& f) {
  DoubleTree result;
  uint32_t root = 0;
  while (root < f.chips() && !f.up(root)) root++;
  if (f.ups() < 2) {
    result.why = fmt::format("{} chips need no tree", f.ups());
    return result;
  }
  if (f.switched) return of_switch(f);
  const std::vector<uint32_t> order = by_breadth(f, root);
  std::vector<Ends> links;
  std::vector<uint32_t> edge_of;
  for (const uint32_t e : order) {
    for (uint32_t k = 0; k < std::min(f.edges()[e].count, 2u); k++) {
      links.emplace_back(f.edges()[e].a, f.edges()[e].b);
      edge_of.push_back(e);
    }
  }
  TwoForests forests(f.chips(), links);
  for (uint32_t i = 0; i < links.size(); i++) forests.add(i, uint8_t(i % 2));
  for (uint8_t k = 0; k < 2; k++) {
    // What one forest lacks to be a tree it takes from all links, the other's too.
    std::vector<std::vector<uint32_t>> near(f.chips());
    TwoForests tree(f.chips(), links);
    std::vector<uint32_t> mine = forests.of(k), group(f.chips());
    for (uint32_t c = 0; c < f.chips(); c++) group[c] = c;
    auto leader = [&](uint32_t c) {
      while (group[c] != c) c = group[c] = group[group[c]];
      return c;
    };
    const size_t own = mine.size();
    for (uint32_t i = 0; i < links.size(); i++) mine.push_back(i);
    uint32_t joined = 0;
    for (size_t i = 0; i < mine.size(); i++) {
      const auto [a, b] = links[mine[i]];
      if (leader(a) == leader(b)) continue;
      group[leader(a)] = leader(b);
      near[a].push_back(b);
      near[b].push_back(a);
      joined++;
      if (i >= own) result.shared++;
    }
    if (joined + 1 != f.ups()) {
      result = {};
      result.why = "the chips that work do not all hang together";
      return result;
    }
    result.trees.push_back(root_at_centre(near, root));
  }
  if (result.shared > 0)
    result.why = fmt::format("{} links for two trees of {}: no two trees share fewer than {}", links.size(),
                             f.ups() - 1, result.shared);
  return result;
}

std::string check_trees(const Fabric& f, const DoubleTree& trees) {
  std::vector<uint32_t> used(f.edges().size(), 0);
  uint32_t shared = 0;
  for (const Tree& t : trees.trees) {
    uint32_t deepest = 0;
    for (uint32_t c = 0; c < f.chips(); c++) {
      if (!f.up(c)) continue;
      uint32_t depth = 0, at = c;
      for (; t.parent[at] != kNone && depth <= f.chips(); at = t.parent[at]) depth++;
      if (at != t.root) return fmt::format("chip {} does not lead to the root", c);
      deepest = std::max(deepest, depth);
      if (c == t.root || f.switched) continue;
      const uint32_t e = f.edge(c, t.parent[c]);
      if (e == UINT32_MAX) return fmt::format("no link joins {} and {}", c, t.parent[c]);
      shared += ++used[e] > f.edges()[e].count ? 1 : 0;
    }
    if (deepest != t.depth) return fmt::format("a depth of {}, not {}", deepest, t.depth);
  }
  return shared == trees.shared ? "" : fmt::format("{} links are shared, not {}", shared, trees.shared);
}

}  // namespace plait::topology
