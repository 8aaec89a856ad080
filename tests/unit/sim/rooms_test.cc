// Rooms of lib/topology as networks: links and routes.
#include "rooms.h"

#include <cmath>
#include <set>
#include <tuple>

#include "sim/networks.h"

namespace plait::sim {
namespace {

// Follows routes between some of the places; returns how many links the longest has.
size_t walk(const Network& network) {
  size_t longest = 0;
  const int32_t n = network.terminals(), step = std::max(1, n / 40);
  for (int32_t a = 0; a < n; a += step) {
    for (int32_t b = 0; b < n; b += step) {
      if (a == b) continue;
      const auto way = route(network, a, b);
      int32_t at = a;
      for (const uint32_t i : way) {
        EXPECT_LT(i, network.links());
        const Link link = network.link(i);
        EXPECT_EQ(link.from, at) << a << " to " << b;
        EXPECT_GT(link.capacity, 0);
        EXPECT_LT(link.to, network.nodes());
        at = link.to;
      }
      EXPECT_EQ(at, b) << a << " to " << b;
      EXPECT_EQ(std::set<uint32_t>(way.begin(), way.end()).size(), way.size());
      longest = std::max(longest, way.size());
    }
  }
  return longest;
}

TEST(RoomNetworks, RoutesArePaths) {
  const std::pair<const char*, size_t> rooms[] = {
      {"ring 7", 3},
      {"ring 2", 1},
      {"mesh 4x4", 6},
      {"torus 4x3x2", 4},
      {"full 5", 1},
      {"hybrid cube mesh", 2},
      {"switch 8", 2},
      {"mesh 4x4; hosts of 4 chips", 6},
      {"8 chips", 0},
      {"1 host x 8 chips", 2},
      {"4 hosts x 2 nics", 2},
      {"4 hosts x 3 chips x 2 nics", 4},
      {"3 hosts x 8 chips x 4 nics; switch 8", 4},
      {"12 hosts x 4 chips x 4 nics; leaf of 5 hosts, 3 spines, oversubscribed 3:1", 6},
      {"fat-tree 4; 16 hosts x 1 nic", 6},
      {"fat-tree 8; 100 hosts x 2 chips x 2 nics", 8},
      {"pod torus 3x3 of hosts with 4 chips and 2 nics", 3},
      {"pod switch 4 of hosts with 8 chips", 3},
      {"pod mesh 2x2 of hosts with 8 chips; hybrid cube mesh", 4},
  };
  for (const auto& [text, hops] : rooms) {
    SCOPED_TRACE(text);
    if (hops == 0) {
      EXPECT_FALSE(read(text).ok());
    } else {
      EXPECT_EQ(walk(*all_of(text).network), hops);
    }
  }
}

// The same links and routes as the networks that tests are written with.
TEST(RoomNetworks, AreThoseOfTextbooks) {
  const Cable cable{50e9, 3e-7};
  const std::pair<std::string, std::unique_ptr<Network>> rooms[] = {
      {"ring 8 50GB/s 300ns", lattice({8}, true, cable)},
      {"mesh 4x3 50GB/s 300ns", lattice({3, 4}, false, cable)},
      {"torus 5x4x3 50GB/s 300ns", lattice({3, 4, 5}, true, cable)},
      {"hybrid cube mesh 50GB/s 300ns", hybrid_cube_mesh(cable)},
      {"4 hosts x 8 chips x 1 nic 100Gb/s 1us", clos({.hosts = 4, .chips = 8})},
  };
  for (const auto& [text, other] : rooms) {
    const auto places = all_of(text);
    ASSERT_EQ(places.network->terminals(), other->terminals()) << text;
    for (int32_t a = 0; a < other->terminals(); a++) {
      for (int32_t b = 0; b < other->terminals(); b++) {
        if (a == b) continue;
        EXPECT_EQ(names(*places.network, a, b), names(*other, a, b)) << text;
        EXPECT_DOUBLE_EQ(latency(*places.network, a, b), latency(*other, a, b)) << text;
      }
    }
  }
}

// What graphs say of switches, links do: as many cables, as fast, between switches of the same names.
TEST(RoomNetworks, SwitchesAreThoseOfTheMap) {
  for (const char* text : {"10 hosts x 2 nics; leaf of 4 hosts, 3 spines, oversubscribed 2:1, 600ns",
                           "fat-tree 4; 13 hosts x 1 nic", "fat-tree 6, oversubscribed 3:1; 54 hosts x 1 nic",
                           "5 hosts x 1 nic"}) {
    SCOPED_TRACE(text);
    const Plan plan = plan_of(text);
    const auto places = all_of(text);
    const auto graph = topology::expand(*plan.room);
    ASSERT_TRUE(graph.ok());
    using Cables = std::multiset<std::tuple<std::string, std::string, int64_t>>;
    Cables want, have;
    double nics = 0, of_nics = 0;
    for (const topology::Link& l : graph->links()) {
      if (graph->node(l.a).kind == topology::Kind::nic)
        nics += l.forward_bytes_per_s;
      else
        want.emplace(graph->node(l.a).name, graph->node(l.b).name, std::llround(l.forward_bytes_per_s));
    }
    for (uint32_t i = 0; i < places.network->links(); i += 2) {
      const Link l = places.network->link(i), back = places.network->link(i + 1);
      EXPECT_EQ(l.from, back.to);
      EXPECT_EQ(l.capacity, back.capacity);
      if (l.from < places.network->terminals())
        of_nics += l.capacity;
      else
        have.emplace(places.network->name(l.from), places.network->name(l.to), std::llround(l.capacity));
    }
    EXPECT_EQ(have, want);
    EXPECT_NEAR(of_nics, nics, 1);
  }
}

TEST(RoomNetworks, ChipsUseTheNicThatIsNearest) {
  // Two sockets: chips 0-3 and the NICs 0 and 1, chips 4-7 and 2 and 3; as plait-topo nics says.
  const auto places = all_of("2 hosts x 2 sockets x 8 chips x 4 nics");
  const Network& network = *places.network;
  std::set<uint32_t> first, second;
  for (int32_t chip = 0; chip < 8; chip++) (chip < 4 ? first : second).insert(route(network, chip, 8).at(1));
  EXPECT_EQ(first.size(), 2u);
  EXPECT_EQ(second.size(), 2u);
  EXPECT_LT(*first.rbegin(), *second.begin());
}

TEST(RoomNetworks, HolesAreGoneAround) {
  const auto mesh = all_of("mesh 3x3; dead chip 4; dead link 0-1");
  EXPECT_EQ(mesh.seats, (std::vector<uint32_t>{0, 1, 2, 3, 5, 6, 7, 8}));
  EXPECT_EQ(names(*mesh.network, 3, 4), "3->6, 6->7, 7->8, 8->5");
  EXPECT_EQ(names(*mesh.network, 0, 3), "0->3");
  // Rank 1 is on chip 1, which is reached the long way only.
  EXPECT_EQ(route(*mesh.network, 0, 1).size(), 7u);
  EXPECT_EQ(walk(*mesh.network), 7u);
  const auto hosts = all_of("3 hosts x 2 chips x 1 nic; dead host 1; dead chip 0");
  EXPECT_EQ(hosts.seats, (std::vector<uint32_t>{1, 4, 5}));
  EXPECT_EQ(walk(*hosts.network), 4u);
  EXPECT_EQ(refusal("mesh 3x3; dead chip 4", "3,4,5"), "4 is dead");
}

TEST(RoomNetworks, LargeRoomsAreCheap) {
  const auto places =
      all_of("65536 hosts x 8 chips x 8 nics 400Gb/s; switch 8 450GB/s; leaf of 64 hosts, 256 spines");
  EXPECT_EQ(places.network->terminals(), 524288);
  EXPECT_EQ(walk(*places.network), 6u);
  EXPECT_EQ(places.levels.size(), 3u);
  EXPECT_NE(refusal("full 1024; 1024 hosts x 1 nic").find("links: too many"), std::string::npos);
  EXPECT_NE(refusal("mesh 2048x2048").find("has at most"), std::string::npos);
}

}  // namespace
}  // namespace plait::sim
