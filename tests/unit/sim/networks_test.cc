// Networks by rule: each route is a path of links from its one end to the other.
#include "sim/networks.h"

#include <gtest/gtest.h>

#include <set>

namespace plait::sim {
namespace {

// Follows each route; returns how many links the longest has.
size_t walk(const Network& network) {
  size_t longest = 0;
  std::vector<uint32_t> way;
  for (int32_t a = 0; a < network.terminals(); a++) {
    for (int32_t b = 0; b < network.terminals(); b++) {
      if (a == b) continue;
      way.clear();
      network.route(a, b, way);
      int32_t at = a;
      for (uint32_t i : way) {
        EXPECT_LT(i, network.links());
        const Link link = network.link(i);
        EXPECT_EQ(link.from, at) << a << " to " << b;
        EXPECT_GT(link.capacity, 0);
        at = link.to;
      }
      EXPECT_EQ(at, b) << a << " to " << b;
      EXPECT_EQ(std::set<uint32_t>(way.begin(), way.end()).size(), way.size());
      longest = std::max(longest, way.size());
    }
  }
  return longest;
}

std::vector<uint32_t> route(const Network& network, int32_t a, int32_t b) {
  std::vector<uint32_t> way;
  network.route(a, b, way);
  return way;
}

TEST(Networks, RoutesArePaths) {
  EXPECT_EQ(walk(*lattice({7}, true, {})), 3u);
  EXPECT_EQ(walk(*lattice({2}, true, {})), 1u);
  EXPECT_EQ(walk(*lattice({4, 4}, false, {})), 6u);
  EXPECT_EQ(walk(*lattice({4, 3, 2}, true, {})), 4u);
  EXPECT_EQ(walk(*lattice({5, 1, 3}, false, {})), 6u);
  EXPECT_EQ(walk(*hybrid_cube_mesh({})), 2u);
  EXPECT_EQ(walk(*clos({.leaves = 1, .hosts = 4, .chips = 3, .nics = 2})), 4u);
  EXPECT_EQ(walk(*clos({.leaves = 3, .hosts = 2, .chips = 4, .nics = 4, .oversubscribed = 3})), 6u);
  EXPECT_EQ(walk(*clos({.leaves = 2, .hosts = 2, .chips = 2, .nics = 1, .leaf_capacity = 1})), 8u);
}

TEST(Networks, EachWayOfACableIsALink) {
  auto mesh = lattice({3, 3}, false, {.capacity = 5, .latency = 2});
  uint32_t links = 0;
  for (uint32_t i = 0; i < mesh->links(); i++) links += mesh->link(i).from >= 0;
  EXPECT_EQ(links, 2u * 12);
  EXPECT_EQ(name_of(*mesh, route(*mesh, 4, 5).front()), "4->5");
  EXPECT_EQ(mesh->link(route(*mesh, 4, 5).front()).capacity, 5);
}

TEST(Networks, OversubscribedLeavesSendLess) {
  auto network = clos({.leaves = 2, .hosts = 4, .chips = 1, .nics = 1, .nic = {100, 0}, .oversubscribed = 4});
  double up = 0;
  for (uint32_t i = 0; i < network->links(); i++) {
    const Link l = network->link(i);
    if (network->name(l.from) == "leaf 0" && network->name(l.to).starts_with("spine")) up += l.capacity;
  }
  EXPECT_DOUBLE_EQ(up, 100);
}

TEST(Networks, LinksAreFoundByTheirEnds) {
  auto mesh = lattice({4, 4}, false, {});
  auto found = find_links(*mesh, "3-7");
  ASSERT_TRUE(found.ok()) << found.status().text();
  EXPECT_EQ(found->size(), 2u);
  EXPECT_FALSE(find_links(*mesh, "3-4").ok());
  EXPECT_FALSE(find_links(*mesh, "3-16").ok());
  EXPECT_FALSE(find_links(*mesh, "").ok());
  auto network = clos({.leaves = 2, .hosts = 2, .leaf_capacity = 1});
  EXPECT_TRUE(find_links(*network, "leaf 1-spine 0").ok());
  EXPECT_EQ(find_links(*network, "leaf 1")->size(), 1u);
}

TEST(Networks, RoutesGoAroundWhatIsCut) {
  auto make = [](const std::vector<std::string>& cut) {
    auto mesh = lattice({3, 3}, false, {});
    std::vector<uint32_t> links;
    for (const std::string& c : cut) {
      auto found = find_links(*mesh, c);
      links.insert(links.end(), found->begin(), found->end());
    }
    return around(std::move(mesh), links);
  };
  auto one = make({"0-1"});
  EXPECT_EQ(route(*one, 0, 1).size(), 3u);
  EXPECT_EQ(route(*one, 3, 4).size(), 1u);
  EXPECT_EQ(walk(*one), 4u);
  auto corner = make({"0-1", "0-3"});
  EXPECT_EQ(corner->link(route(*corner, 0, 1).front()).capacity, 0);
}

}  // namespace
}  // namespace plait::sim
