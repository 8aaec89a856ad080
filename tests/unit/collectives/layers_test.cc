// Pods, hosts and all as levels: which there are, in which order ranks stand, and that what is composed of
// them is right.
#include "collectives/choice/layers.h"

#include <numeric>

#include "collectives/choice/levels.h"
#include "collectives/chunkwise.h"
#include "unit/collectives/programs.h"

namespace plait::collectives {
namespace {

Pod pod(std::vector<int32_t> ranks) { return {.ranks = std::move(ranks), .about = "a ring"}; }

// A pod for each run of `chips` ranks, `per_host` ranks a host; in each the ring goes backwards.
Seating pods(int32_t ranks, int32_t chips, int32_t per_host) {
  Seating s{.ranks = ranks};
  for (int32_t r = 0; r < ranks; r++) {
    s.host_of.push_back(r / per_host);
    s.pod_of.push_back(r / chips);
  }
  for (int32_t first = 0; first < ranks; first += chips) {
    std::vector<int32_t> ring;
    for (int32_t r = std::min(first + chips, ranks); r-- > first;) ring.push_back(r);
    if (ring.size() > 1) s.pods.push_back(pod(ring));
  }
  return s;
}

std::vector<LinkClass> links_of(const Layers& layers) {
  std::vector<LinkClass> links;
  for (const Layer& layer : layers.list) links.push_back(layer.links);
  return links;
}

using enum LinkClass;
using Links = std::vector<LinkClass>;

TEST(Layers, ArePodsHostsAndAll) {
  EXPECT_EQ(links_of(layers_of(pods(8, 2, 4))), (Links{chips, inside, between}));
  EXPECT_EQ(links_of(layers_of(pods(8, 2, 8))), (Links{chips, inside}));   // one host
  EXPECT_EQ(links_of(layers_of(pods(8, 4, 4))), (Links{chips, between}));  // a pod is a host
  EXPECT_EQ(links_of(layers_of(pods(8, 4, 2))), (Links{chips, between}));  // a pod of two hosts
  EXPECT_EQ(links_of(layers_of(pods(8, 8, 2))), (Links{chips}));           // of all of them
  EXPECT_EQ(links_of(layers_of({.ranks = 4, .host_of = {0, 0, 1, 1}})), (Links{inside, between}));
  EXPECT_EQ(links_of(layers_of({.ranks = 3, .host_of = {0, 1, 2}})), (Links{between}));
  EXPECT_EQ(links_of(layers_of({.ranks = 3})), (Links{inside}));
  EXPECT_TRUE(layers_of({.ranks = 1}).list.empty());
}

TEST(Layers, WhatIsNotNestedIsLeftOutAndSaid) {
  Seating s{.ranks = 4, .host_of = {0, 0, 1, 1}, .pod_of = {0, 1, 1, 2}, .pods = {pod({1, 2})}};
  EXPECT_EQ(links_of(layers_of(s)), (Links{chips, between}));
  EXPECT_NE(levels_note(s).find("hosts are no level: the pod of rank 2 is on several"), std::string::npos)
      << levels_note(s);
}

TEST(Layers, RingsOfPodsAreTheOrderOfTheirGroups) {
  const Seating s = pods(6, 3, 3);
  const Layers layers = layers_of(s);
  const auto order = [&](PodOrder by) {
    std::vector<int32_t> ranks;
    const auto seated = seat_in(layers, s, by);
    for (int position = 0; position < 6; position++) ranks.push_back(seated.hierarchy->rank_at(position));
    return ranks;
  };
  EXPECT_EQ(order(PodOrder::ring), (std::vector<int32_t>{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(order(PodOrder::natural), (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(seat_in(layers, s, PodOrder::grid).hierarchy, nullptr);
}

// Ranks 0..7 sit on a mesh of 2x4 whose chips have other numbers than they.
Seating grid() {
  Seating s{.ranks = 8, .pod_of = std::vector<int32_t>(8, 0)};
  Pod one = pod({3, 1, 0, 2, 6, 4, 5, 7});
  one.grid = {3, 1, 0, 2, 7, 5, 4, 6};
  one.grid_sizes = {2, 4};
  s.pods = {one};
  return s;
}

TEST(Layers, AMeshHasALevelADimension) {
  const Seating s = grid();
  const Seated seated = seat_in(layers_of(s), s, PodOrder::grid);
  ASSERT_NE(seated.hierarchy, nullptr);
  EXPECT_EQ(seated.links, (Links{chips, chips}));
  EXPECT_EQ(seated.hierarchy->largest(0), 4);  // a row
  EXPECT_EQ(seated.hierarchy->groups(0), 2);
  EXPECT_EQ(seated.hierarchy->largest(1), 2);  // rows of the mesh
  EXPECT_EQ(seated.hierarchy->group_of(0, seated.hierarchy->position_of(2)), 0);
  EXPECT_EQ(seated.hierarchy->group_of(0, seated.hierarchy->position_of(7)), 1);
}

void expect_right(const Method& m, int32_t root) {
  SCOPED_TRACE(std::string(name_of(m.collective)) + " " + std::string(m.name));
  for (bool in_place : {false, true}) {
    for (bool apart : {false, true}) {
      std::vector<Program> programs;
      for (int32_t r = 0; r < m.ranks; r++) {
        Program program = m.build(r, root, in_place);
        programs.push_back(apart ? chunkwise(program) : std::move(program));
      }
      const Proof proof = prove({m.collective, root}, programs);
      ASSERT_TRUE(proof.status.ok()) << proof.status.text();
      EXPECT_LE(proof.min_credits, m.min_credits[in_place]);
      EXPECT_TRUE(proof.rank_order || !m.rank_order);
    }
  }
}

// Every method that pods add, of pods and hosts alike, unlike, and of one rank.
TEST(Layers, WhatIsComposedIsProved) {
  Seating odd{.ranks = 7,
              .host_of = {0, 0, 0, 0, 1, 1, 1},
              .pod_of = {0, 1, 0, 1, 2, 3, 3},
              .pods = {pod({2, 0}), pod({3, 1}), pod({6, 5})}};
  Seating whole = grid();
  whole.pods[0].rings = {whole.pods[0].ranks, {0, 1, 2, 3, 4, 5, 6, 7}};
  whole.pods[0].trees = {{-1, 0, 1, 2, 0, 4, 4, 4}, {1, 2, 3, -1, 3, 4, 5, 6}};
  Seating two = pods(12, 6, 12);
  for (Pod& one : two.pods) {
    one.grid = one.ranks;
    one.grid_sizes = {2, 3};
  }
  for (const Seating& s : {pods(8, 2, 4), odd, pods(5, 2, 4), whole, two}) {
    Methods methods(s.ranks);
    add_levels(methods, s);
    ASSERT_GT(methods.size(), algorithms().size());
    for (uint32_t i = uint32_t(algorithms().size()); i < methods.size(); i++)
      expect_right(methods[i], rooted(methods[i].collective) ? s.ranks - 1 : 0);
  }
}

TEST(Layers, NamesTellTheLevels) {
  auto has = [](const Seating& s, std::string_view name) {
    Methods methods(s.ranks);
    add_levels(methods, s);
    return methods.find(Collective::allreduce, name) != nullptr;
  };
  EXPECT_TRUE(has(pods(8, 2, 4), "ring/direct/ring"));
  EXPECT_FALSE(has(pods(8, 2, 4), "ring/ring"));
  EXPECT_TRUE(has(pods(8, 2, 8), "ring/ring"));
  EXPECT_TRUE(has(grid(), "ring/ring"));
  EXPECT_TRUE(has(grid(), "chip_ring"));
  EXPECT_FALSE(has(grid(), "chip_rings"));  // the map has none
}

// A step of the innermost ring goes to the next rank of the pod's.
TEST(Layers, TheInnermostRingFollowsLinks) {
  const Seating s = pods(8, 4, 4);
  Methods methods(s.ranks);
  add_levels(methods, s);
  const Method* m = methods.find(Collective::allreduce, "ring/direct");
  ASSERT_NE(m, nullptr);
  for (int32_t r = 0; r < 8; r++) {
    for (const Step& step : m->build(r, 0, false).steps) {
      if (!sends(step.op) || step.peer / 4 != r / 4) continue;
      EXPECT_EQ(step.peer, r / 4 * 4 + (r + 3) % 4);  // backwards, as the ring of pods()
    }
  }
}

// Numbers follow pods and hosts, so what folds in order may be taken for operators that do not commute: but
// not along a ring.
TEST(Layers, OrderIsKeptWhereNoRingIs) {
  const Seating s = pods(8, 2, 4);
  Methods methods(s.ranks);
  add_levels(methods, s);
  EXPECT_TRUE(methods.find(Collective::allreduce, "direct/direct/all_to_all")->rank_order);
  EXPECT_FALSE(methods.find(Collective::allreduce, "ring/direct/all_to_all")->rank_order);
  for (const Method* m : methods.of(Collective::allreduce))
    EXPECT_TRUE(m->row != nullptr || !m->deterministic);
}

}  // namespace
}  // namespace plait::collectives
