// Which network joins whom: what ranks conclude from each other's cards, and what they make of maps of chips.
#include "runtime/reach.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "runtime/pods.h"
#include "topology/room.h"

namespace plait::runtime {
namespace {

// By network and rank: the lowest rank that it reaches; -1: not open. Chips are the numbers of ranks.
struct Story {
  std::vector<std::vector<int32_t>> lowest;
  std::vector<NetworkCard> cards;
  std::vector<ReachCard> reach;
  explicit Story(std::vector<std::vector<int32_t>> of) : lowest(std::move(of)) {
    for (size_t r = 0; r < lowest[0].size(); r++) {
      NetworkCard& card = cards.emplace_back();
      ReachCard& said = reach.emplace_back();
      for (size_t i = 0; i < lowest.size(); i++) {
        card.networks.push_back({lowest[i][r] >= 0, 1e9, i == 0 ? int32_t(r) : -1, {}});
        said.networks.push_back({lowest[i][r], {}});
      }
    }
  }
};

std::string ways(const Reach& reach, int32_t of) {
  std::string text;
  for (int32_t r = 0; r < int32_t(reach.host_of.size()); r++) {
    const auto way = reach.way(of, r);
    text += r == of ? '.' : way ? char('0' + int(*way)) : '-';
  }
  return text;
}

// Pods 0-1, 2-3 and 4 alone; hosts 0-3 and 4-5; rank 5 has no chip.
TEST(Reach, TheFirstNetworkThatReachesARankJoinsIt) {
  Story story({{0, 0, 2, 2, 4, -1}, {0, 0, 0, 0, 0, 0}});
  const auto reach = conclude(1, {0, 0, 0, 0, 1, 1}, story.cards, story.reach);
  ASSERT_TRUE(reach.ok()) << reach.status().text();
  EXPECT_EQ(ways(*reach, 0), ".10022");
  EXPECT_EQ(ways(*reach, 3), "001.22");
  EXPECT_EQ(ways(*reach, 4), "2222.0");
  EXPECT_EQ(ways(*reach, 5), "22220.");
  ASSERT_EQ(reach->groups[0].size(), 2u);
  EXPECT_EQ(reach->groups[0][1].ranks, (std::vector<int32_t>{2, 3}));
}

TEST(Reach, SharedMemoryComesBeforeOtherNetworks) {
  Story story({{0, 0, 2, 2}, {0, 0, 0, 0}});
  const auto reach = conclude(0, {0, 0, 1, 1}, story.cards, story.reach);
  ASSERT_TRUE(reach.ok());
  EXPECT_EQ(ways(*reach, 0), ".022");
}

TEST(Reach, RanksThatNothingJoinsAreTold) {
  Story story({{0, 0, 2, 2}});
  const auto reach = conclude(1, {0, 0, 0, 1}, story.cards, story.reach);
  ASSERT_TRUE(reach.ok());
  EXPECT_EQ(ways(*reach, 0), ".10-");
  EXPECT_EQ(ways(*reach, 3), "--1.");
}

// 1 reaches 0, 2 reaches 1 only: one group, and who does not reach whom finds it out when it looks.
TEST(Reach, ChainsAreOneGroup) {
  Story story({{0, 0, 1}, {0, 0, 0}});
  const auto reach = conclude(0, {0, 1, 2}, story.cards, story.reach);
  ASSERT_TRUE(reach.ok());
  EXPECT_EQ(ways(*reach, 2), "11.");
}

TEST(Reach, WhatCannotBeIsRefused) {
  auto refused = [](const Story& story) {
    const auto reach = conclude(1, {0, 0, 0}, story.cards, story.reach);
    return !reach.ok() && reach.status().code() == Code::version;
  };
  EXPECT_FALSE(refused(Story({{0, 0, 0}})));
  EXPECT_TRUE(refused(Story({{0, 2, 2}})));   // a lower one that is higher
  EXPECT_TRUE(refused(Story({{-1, 0, 0}})));  // one that is not open
  Story other({{0, 0, 0}});
  other.cards[1].networks[0].open = false;
  EXPECT_TRUE(refused(other));
  Story fewer({{0, 0, 0}});
  fewer.reach[1].networks.clear();
  EXPECT_TRUE(refused(fewer));
}

NetworkCard a_card() { return {"icl|tcp", {{true, 12.5e9, 3, Bytes(16, std::byte(1))}, {false, 0, -1, {}}}}; }

TEST(Reach, CardsAreReadAsTheyWereWritten) {
  NetworkCard card;
  ASSERT_TRUE(decode(encode(a_card()), card));
  EXPECT_EQ(card.kind, "icl|tcp");
  ASSERT_EQ(card.networks.size(), 2u);
  EXPECT_EQ(card.networks[0].chip, 3);
  EXPECT_EQ(card.networks[0].identity.size(), 16u);
  EXPECT_FALSE(card.networks[1].open);
  ReachCard reach, again;
  reach.networks = {{2, {{0, 1, 2, 1000}, {1, 5, 1, 0}}}, {-1, {}}};
  ASSERT_TRUE(decode(encode(reach), again));
  ASSERT_EQ(again.networks.size(), 2u);
  EXPECT_EQ(again.networks[0].lowest, 2);
  EXPECT_EQ(again.networks[0].links[1].b, 5u);
}

// Bytes that others sent: cut, and changed in a place.
TEST(Reach, BrokenCardsAreRefusedOrRead) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  ReachCard reach;
  reach.networks = {{2, {{0, 1, 2, 1000}, {1, 5, 1, 0}}}, {-1, {}}};
  const Bytes cards[] = {encode(a_card()), encode(reach)};
  for (int turn = 0; turn < 4000; turn++) {
    Bytes bytes = cards[turn % 2];
    if (turn % 4 < 2) bytes.resize(random() % bytes.size());
    if (!bytes.empty()) bytes[random() % bytes.size()] = std::byte(random());
    NetworkCard card;
    ReachCard said;
    if (decode(bytes, card)) {
      EXPECT_LE(card.networks.size(), kMostAlternatives);
    }
    if (!decode(bytes, said)) continue;
    for (const auto& one : said.networks) {
      for (const auto& link : one.links) EXPECT_LT(link.a, link.b);
    }
  }
  ReachCard one;
  EXPECT_FALSE(decode(encode(ReachCard{{{0, {{1, 1, 1, 0}}}}}), one));  // a chip with itself
  EXPECT_FALSE(decode(encode(ReachCard{{{0, {{2, 1, 1, 0}}}}}), one));
}

// The chips of a room, one rank each: rank r has chip `chip_of(r)`.
ChipGroup group_in(std::string_view text, const std::function<int32_t(int32_t)>& chip_of) {
  const auto room = topology::parse_room(text, "room.txt");
  EXPECT_TRUE(room.ok()) << room.status().text();
  const auto fabric = topology::fabric_of(*room);
  EXPECT_TRUE(fabric.ok());
  ChipGroup group;
  for (int32_t r = 0; r < int32_t(fabric->ups()); r++) {
    group.ranks.push_back(r);
    group.chips.push_back(chip_of(r));
  }
  for (const auto& e : fabric->edges()) group.links.push_back({e.a, e.b, 1, 1000});
  return group;
}

bool joined(const ChipGroup& group, int32_t a, int32_t b) {
  const auto chip = [&](int32_t r) { return uint32_t(group.chips[size_t(r)]); };
  const uint32_t least = std::min(chip(a), chip(b)), most = std::max(chip(a), chip(b));
  return std::ranges::any_of(group.links, [&](auto& l) { return l.a == least && l.b == most; });
}

// Every step of each ring is a link, and no link is in two of them.
void expect_rings(const ChipGroup& group, const collectives::Pod& pod, size_t count) {
  ASSERT_EQ(pod.rings.size(), count) << pod.about;
  std::set<std::pair<int32_t, int32_t>> used;
  for (const auto& ring : pod.rings) {
    ASSERT_EQ(ring.size(), group.ranks.size());
    for (size_t i = 0; i < ring.size(); i++) {
      const int32_t a = ring[i], b = ring[(i + 1) % ring.size()];
      EXPECT_TRUE(joined(group, a, b)) << a << " and " << b;
      EXPECT_TRUE(used.insert(std::minmax({a, b})).second || ring.size() == 2);
    }
  }
  EXPECT_EQ(pod.ranks, pod.rings.front());
}

TEST(Pods, RingsFollowLinks) {
  const auto same = [](int32_t r) { return r; };
  for (const auto& [room, rings] : std::vector<std::pair<std::string, size_t>>{{"ring 5", 1},
                                                                               {"mesh 2x3", 1},
                                                                               {"torus 4x4", 2},
                                                                               {"torus 3x3x3", 3},
                                                                               {"hybrid cube mesh", 2},
                                                                               {"full 5", 2}}) {
    SCOPED_TRACE(room);
    const ChipGroup group = group_in(room, same);
    expect_rings(group, pod_of(group), rings);
    const int32_t n = int32_t(group.ranks.size());
    const ChipGroup turned = group_in(room, [n](int32_t r) { return n - 1 - r; });
    expect_rings(turned, pod_of(turned), rings);
  }
}

TEST(Pods, MeshesAndToriHaveDimensions) {
  const auto sizes = [](const char* room) {
    return pod_of(group_in(room, [](int32_t r) { return r; })).grid_sizes;
  };
  EXPECT_EQ(sizes("torus 4x4"), (std::vector<int32_t>{4, 4}));
  EXPECT_EQ(sizes("mesh 3x5"), (std::vector<int32_t>{3, 5}));
  EXPECT_EQ(sizes("torus 2x3x4"), (std::vector<int32_t>{2, 3, 4}));
  EXPECT_TRUE(sizes("ring 8").empty());
  EXPECT_TRUE(sizes("hybrid cube mesh").empty());
  EXPECT_TRUE(sizes("torus 4x4\ndead link 0-1").empty());
  const ChipGroup turned = group_in("mesh 2x3", [](int32_t r) { return 5 - r; });
  EXPECT_EQ(pod_of(turned).grid, (std::vector<int32_t>{5, 4, 3, 2, 1, 0}));  // row by row
}

// Chip 5 of a mesh of 3x3 is dead: rank r has the r-th of the others. With 8 chips it has a ring around;
// where a link of that is gone, a walk along a tree.
TEST(Pods, HolesAreGoneAround) {
  const auto around = [](int32_t r) { return r < 4 ? r : r + 1; };
  const ChipGroup group = group_in("mesh 3x3\ndead chip 4", around);
  expect_rings(group, pod_of(group), 1);
  const ChipGroup cut = group_in("mesh 3x3\ndead chip 4\ndead link 0-1", around);
  const collectives::Pod pod = pod_of(cut);
  EXPECT_TRUE(pod.rings.empty());
  EXPECT_NE(pod.about.find("around a tree"), std::string::npos) << pod.about;
  ASSERT_EQ(std::set<int32_t>(pod.ranks.begin(), pod.ranks.end()).size(), 8u);
  // What is left is a line: all steps together pass each of its links once each way.
  const std::vector<int32_t> line = {1, 2, 4, 7, 6, 5, 3, 0};
  for (size_t i = 0; i + 1 < line.size(); i++) ASSERT_TRUE(joined(cut, line[i], line[i + 1]));
  const auto place = [&](int32_t r) { return std::ranges::find(line, r) - line.begin(); };
  int64_t links = 0;
  for (size_t i = 0; i < 8; i++) links += std::abs(place(pod.ranks[i]) - place(pod.ranks[(i + 1) % 8]));
  EXPECT_EQ(links, 14);
  ASSERT_EQ(pod.trees.size(), 2u);
}

TEST(Pods, OfSomeChipsOnlyAndOfSharedOnes) {
  ChipGroup some = group_in("torus 4x4", [](int32_t r) { return r; });
  some.ranks = {0, 1, 2, 3};
  some.chips = {0, 1, 4, 5};  // a square of four
  const collectives::Pod square = pod_of(some);
  EXPECT_EQ(square.rings.size(), 1u);
  some.chips = {0, 1, 0, 1};  // two ranks each
  const collectives::Pod shared = pod_of(some);
  EXPECT_EQ(shared.ranks, (std::vector<int32_t>{0, 2, 1, 3}));
  EXPECT_TRUE(shared.rings.empty());
  some.chips = {0, 2, 8, 10};  // no two are neighbours
  EXPECT_EQ(pod_of(some).ranks, (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST(Pods, LinksThatMakeNoSenseChangeNothingElse) {
  ChipGroup group = group_in("ring 4", [](int32_t r) { return r; });
  group.links.push_back({60000, 65535, 9, 1});  // of chips without ranks
  EXPECT_EQ(pod_of(group).rings.size(), 1u);
  group.links.push_back(group.links[0]);  // twice
  EXPECT_EQ(pod_of(group).ranks, (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST(Pods, AreSeats) {
  Story story({{0, 0, 2, 2, 4, -1}, {0, 0, 0, 0, 0, 0}});
  story.cards[1].networks[0].bandwidth_Bps = 5e8;
  story.reach[0].networks[0].links = {{0, 1, 1, 0}};
  const auto reach = conclude(1, {0, 0, 0, 0, 1, 1}, story.cards, story.reach);
  ASSERT_TRUE(reach.ok());
  collectives::Seating seating{.ranks = 6, .host_of = reach->host_of};
  seat_networks(*reach, story.cards, seating);
  EXPECT_EQ(seating.pod_of, (std::vector<int32_t>{0, 0, 1, 1, 2, 3}));
  EXPECT_EQ(seating.pods.size(), 2u);
  EXPECT_EQ(seating.chip_link_Bps, 5e8);
  EXPECT_EQ(seating.link_Bps, 1e9);
}

}  // namespace
}  // namespace plait::runtime
