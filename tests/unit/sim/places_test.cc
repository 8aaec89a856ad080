// Who sits where: levels, rings, lists of places.
#include "sim/places.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "collectives/hierarchy.h"
#include "rooms.h"
#include "sim/ways.h"
#include "topology/levels.h"

namespace plait::sim {
namespace {

using Sizes = std::vector<uint64_t>;
Sizes sizes_of(const std::string& text) { return group_sizes(*plan_of(text).room); }

TEST(RoomLevels, AreGroupsAndDimensions) {
  EXPECT_EQ(sizes_of("mesh 4x3"), (Sizes{3, 12}));
  EXPECT_EQ(sizes_of("torus 8x8x4; hosts of 8 chips"), (Sizes{4, 8, 32, 256}));
  EXPECT_EQ(sizes_of("hybrid cube mesh"), (Sizes{4, 8}));
  EXPECT_EQ(sizes_of("4 hosts x 1 nic"), (Sizes{4}));
  EXPECT_EQ(sizes_of("8 hosts x 2 sockets x 8 chips x 8 nics; leaf of 4 hosts, 2 spines"),
            (Sizes{4, 8, 32, 64}));
  EXPECT_EQ(sizes_of("7 hosts x 8 chips x 8 nics; leaf of 4 hosts, 2 spines"), (Sizes{8, 32, 56}));
  EXPECT_EQ(sizes_of("pod ring 4 of hosts with 8 chips"), (Sizes{8, 32}));
}

// Every level whose groups are alike is there, where it divides what is above.
TEST(RoomLevels, AreThoseOfTheMap) {
  for (const char* text :
       {"4 hosts x 2 sockets x 8 chips x 2 nics", "8 hosts x 4 chips x 1 nic; leaf of 2 hosts, 2 spines",
        "16 hosts x 8 chips x 8 nics; switch 8; leaf of 4 hosts, 4 spines", "mesh 4x4; hosts of 4 chips",
        "pod torus 4x4 of hosts with 4 chips", "fat-tree 4; 16 hosts x 2 chips x 1 nic", "ring 8",
        "3 hosts x 2 sockets x 8 chips x 2 nics; full 8"}) {
    const Plan plan = plan_of(text);
    const auto graph = topology::expand(*plan.room);
    ASSERT_TRUE(graph.ok());
    const Sizes sizes = group_sizes(*plan.room);
    for (const auto& level : topology::levels(*graph)) {
      EXPECT_EQ(level.smallest, level.largest) << text;
      EXPECT_NE(std::find(sizes.begin(), sizes.end(), level.largest), sizes.end()) << text << level.largest;
    }
  }
}

using Groups = std::vector<std::vector<int>>;

TEST(Seats, LevelsFollowThem) {
  EXPECT_EQ(all_of("2 hosts x 4 chips x 1 nic").levels, (Groups{{4, 4}, {2}}));
  EXPECT_EQ(all_of("2 hosts x 4 chips x 1 nic; dead chip 5; taken 0,1").levels, (Groups{{2, 3}, {2}}));
  const Plan plan = plan_of("4 hosts x 4 chips x 1 nic");
  auto job = take_places(plan, {9, 0, 8, 1});
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->levels, (Groups{{2, 2}, {2}}));
  EXPECT_EQ(job->order, (std::vector<int32_t>{1, 3, 2, 0}));
  EXPECT_EQ(job->network->name(0), "9");
  EXPECT_EQ(names(*job->network, 0, 1), "9->host 2, host 2->leaf 0, leaf 0->host 0, host 0->0");
  EXPECT_EQ(take_places(plan, {1, 2})->levels, (Groups{{2}}));
  EXPECT_EQ(take_places(plan, {3, 7, 11})->levels, (Groups{{3}}));
}

// Whatever the room and the seats, the levels are a hierarchy of all ranks.
TEST(Seats, LevelsAlwaysFit) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const char* text :
       {"mesh 6x4; hosts of 8 chips", "7 hosts x 6 chips x 2 nics; leaf of 3 hosts, 2 spines",
        "pod torus 3x3 of hosts with 4 chips", "13 hosts x 1 nic", "ideal 12"}) {
    const Plan plan = plan_of(text);
    for (int i = 0; i < 50; i++) {
      std::vector<uint32_t> seats(plan.places());
      std::iota(seats.begin(), seats.end(), 0u);
      std::shuffle(seats.begin(), seats.end(), random);
      seats.resize(1 + random() % seats.size());
      auto places = take_places(plan, seats);
      ASSERT_TRUE(places.ok()) << places.status().text();
      auto hierarchy = collectives::Hierarchy::make(places->levels, places->order);
      ASSERT_TRUE(hierarchy.ok()) << text << hierarchy.status().text();
      EXPECT_EQ(hierarchy->n(), int(seats.size()));
      const Question q{.ranks = int(seats.size()), .levels = places->levels, .order = places->order};
      for (const Way& way : all_ways(q)) EXPECT_TRUE(way.build(0).ok()) << way.name;
    }
  }
}

TEST(Seats, ReadListsAndPlacements) {
  EXPECT_EQ(*read_seats("0,1,5,4"), (std::vector<uint32_t>{0, 1, 5, 4}));
  EXPECT_EQ(*read_seats("12,0-3"), (std::vector<uint32_t>{12, 0, 1, 2, 3}));
  EXPECT_EQ(*read_seats(R"({"found": true, "chips": [2, 3, 7]})"), (std::vector<uint32_t>{2, 3, 7}));
  for (const char* wrong : {"", ",", "1,", "1-", "3-1", "a", "1 2", "0-99999999", "-1", "1\n"})
    EXPECT_FALSE(read_seats(wrong).ok()) << wrong;
  for (const char* wrong : {"{", "{}", R"({"chips": 1})", R"({"chips": [-1]})", R"({"chips": [1e9]})",
                            R"({"chips": [1.5]})", R"({"found": false, "chips": [1]})"})
    EXPECT_FALSE(read_seats(wrong).ok()) << wrong;
}

TEST(Seats, Refusals) {
  EXPECT_NE(refusal("4 hosts x 8 chips").find("nothing joins 0 and 8"), std::string::npos);
  EXPECT_EQ(refusal("4 hosts x 8 chips", "8-15"), "");
  EXPECT_NE(refusal("4 hosts").find("have no NICs"), std::string::npos);
  EXPECT_NE(refusal("ring 8", "0,8").find("no place 8"), std::string::npos);
  EXPECT_NE(refusal("ring 8", "0,1,0").find("place 0 twice"), std::string::npos);
  EXPECT_NE(refusal("ring 4; taken 0-3").find("no place is free"), std::string::npos);
  EXPECT_NE(refusal("ideal 0").find("room: "), std::string::npos);
  EXPECT_NE(refusal("ideal 8 x").find("too much"), std::string::npos);
  EXPECT_NE(refusal("cube 8").find("room:1: not understood: 'cube'"), std::string::npos);
}

// Each step of it is one link.
void follow_ring(const std::string& text, const std::string& chips = "") {
  SCOPED_TRACE(text);
  const Plan plan = plan_of(text);
  auto seats = chips.empty() ? free_places(plan) : *read_seats(chips);
  auto ring = ring_of_links(plan, seats);
  ASSERT_TRUE(ring.ok()) << ring.status().text();
  auto places = take_places(plan, seats);
  ASSERT_TRUE(places.ok());
  ASSERT_EQ(ring->size(), seats.size());
  std::set<int32_t> seen;
  for (size_t i = 0; i < ring->size(); i++) {
    seen.insert((*ring)[i]);
    EXPECT_EQ(route(*places->network, (*ring)[i], (*ring)[(i + 1) % ring->size()]).size(), 1u);
  }
  EXPECT_EQ(seen.size(), seats.size());
  const Question q{
      .ranks = int(seats.size()), .levels = places->levels, .order = places->order, .ring = *ring};
  auto way = find_way(q, std::string(kRingOfLinks));
  ASSERT_TRUE(way.ok()) << way.status().text();
  auto program = way->build((*ring)[0]);
  ASSERT_TRUE(program.ok());
  for (const auto& step : program->steps) {
    if (step.op == collectives::Op::send) {
      EXPECT_EQ(step.peer, (*ring)[1]);
    }
  }
}

TEST(RingOfLinks, FollowsTheMap) {
  for (const char* text :
       {"ring 8", "mesh 4x4", "mesh 3x4x5", "torus 3x3", "torus 8x8", "full 5", "hybrid cube mesh",
        "mesh 32x32", "pod torus 2x2 of hosts with 4 chips",
        "pod ring 3 of hosts with 8 chips; hybrid cube mesh", "mesh 4x4; dead chip 0; taken 3"})
    follow_ring(text);
  follow_ring("mesh 4x4", "0,1,5,4");
  follow_ring("mesh 4x4; taken 5", "2,3,7,11,15,14,10,6");
  auto none = ring_of_links(plan_of("mesh 3x3"), free_places(plan_of("mesh 3x3")));
  EXPECT_NE(none.status().text().find("no ring"), std::string::npos);
  EXPECT_FALSE(ring_of_links(plan_of("4 hosts x 1 nic"), std::vector<uint32_t>{0, 1, 2, 3}).ok());
}

}  // namespace
}  // namespace plait::sim
