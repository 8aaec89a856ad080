#include "collectives/choice/mapped.h"

#include "collectives/algorithm/mapped.h"

namespace plait::collectives {
namespace {

template <class Append>
Method allreduce_of(std::string_view name, std::string_view summary, int32_t ranks, uint32_t chunks,
                    uint32_t lanes, Append append) {
  Method m{.name = name,
           .summary = summary,
           .collective = Collective::allreduce,
           .ranks = ranks,
           .chunks = chunks,
           .lanes = lanes};
  m.min_credits[0] = m.min_credits[1] = 0;
  m.build = [=](int32_t rank, int32_t root, bool in_place) {
    Builder b(Collective::allreduce, ranks, rank, root, chunks);
    append(b, rank, Range{0, chunks});
    auto program = b.finish(in_place);
    if (!program.ok()) return Program();
    program->lanes = lanes;
    program->min_credits = 0;
    program->rank_order = false;
    return std::move(*program);
  };
  return m;
}

uint32_t depth_of(const std::vector<int32_t>& parents) {
  uint32_t most = 0;
  for (int32_t r : parents) {
    uint32_t depth = r < 0 ? 0 : 1;
    for (int32_t at = r; at >= 0 && parents[size_t(at)] >= 0; at = parents[size_t(at)]) depth++;
    most = std::max(most, depth);
  }
  return most;
}

}  // namespace

// Lanes move at the same time, over links of their own: a lane's share of the vector is what it costs.
std::optional<Method> rings_method(const Pod& pod, int32_t ranks) {
  if (pod.rings.empty() || pod.ranks.size() != size_t(ranks)) return {};
  auto rings = pod.rings;
  rings.resize(std::min(rings.size(), kMostMappedRings));
  const auto lanes = uint32_t(2 * rings.size());
  Method m = allreduce_of(
      "chip_rings", "rings of links that no two share, each both ways", ranks, lanes * uint32_t(ranks), lanes,
      [rings](Builder& b, int32_t rank, Range all) { mapped_rings_allreduce(b, rank, rings, all); });
  if (const auto ring = outline_of(Collective::allreduce, "ring", ranks))
    m.levels.push_back({*ring, LinkClass::chips, 1.0 / lanes, 1});
  return m;
}

std::optional<Method> trees_method(const Pod& pod, int32_t ranks) {
  if (pod.trees.empty() || pod.ranks.size() != size_t(ranks)) return {};
  std::vector<std::vector<int32_t>> parents;
  uint32_t depth = 0;
  for (const auto& tree : pod.trees) {
    depth = std::max(depth, depth_of(tree));
    std::vector<int32_t>& of = parents.emplace_back(tree.size(), -1);
    for (size_t at = 0; at < tree.size(); at++) {
      if (tree[at] >= 0) of[size_t(pod.ranks[at])] = pod.ranks[size_t(tree[at])];
    }
  }
  const auto lanes = uint32_t(parents.size());
  Method m = allreduce_of(
      "chip_trees", "trees of links that share as few as can be, a part of the vector each", ranks, lanes,
      lanes,
      [parents](Builder& b, int32_t rank, Range all) { mapped_trees_allreduce(b, rank, parents, all); });
  // Up and down, each way as long as the deeper tree.
  const Outline steps{.rounds = 2.0 * depth,
                      .messages = 2.0 * depth,
                      .moved = 2.0 * depth,
                      .folded = 1.0 * depth,
                      .rough = true};
  m.levels.push_back({steps, LinkClass::chips, 1.0 / lanes, 1});
  return m;
}

}  // namespace plait::collectives
