// Rings and trees that share no link, in shapes whole and with holes.
#include "topology/rings.h"

#include <gtest/gtest.h>

#include "topology/room.h"
#include "topology/trees.h"

namespace plait::topology {
namespace {

Fabric fabric(std::string_view text) {
  const auto room = parse_room(text, "room.txt");
  EXPECT_TRUE(room.ok()) << room.status().text();
  auto f = fabric_of(*room);
  EXPECT_TRUE(f.ok()) << f.status().text();
  return std::move(*f);
}
void expect_rings(std::string_view room, size_t count) {
  const Fabric f = fabric(room);
  const Rings r = rings(f);
  EXPECT_EQ(check_rings(f, r.cycles), "") << room;
  EXPECT_EQ(r.cycles.size(), count) << room << ": " << r.why;
  EXPECT_TRUE(r.proven) << room << ": " << r.why;
}

TEST(Rings, OfRegularShapes) {
  expect_rings("ring 8", 1);
  expect_rings("line 8", 0);
  expect_rings("hybrid cube mesh", 2);
  for (int n = 3; n <= 17; n++) expect_rings("full " + std::to_string(n), size_t(n - 1) / 2);
  for (int a = 2; a <= 7; a++) {
    for (int b = 2; b <= 7; b++)
      expect_rings("mesh " + std::to_string(a) + "x" + std::to_string(b), a * b % 2 == 0 ? 1 : 0);
  }
  expect_rings("mesh 2x2x2", 1);
  expect_rings("mesh 3x3x4", 1);
  expect_rings("mesh 3x3x3", 0);
}

TEST(Rings, UseEveryLinkOfATorus) {
  for (int a = 3; a <= 8; a++) {
    for (int b = 3; b <= 8; b++) expect_rings("torus " + std::to_string(a) + "x" + std::to_string(b), 2);
  }
  expect_rings("torus 16x16", 2);
  expect_rings("torus 3x3x3", 3);
  expect_rings("torus 4x4x4", 3);
  expect_rings("torus 3x4x5", 3);
  expect_rings("torus 8x8x8", 3);
}

// A ring of a mesh of as many chips is none of theirs.
TEST(Rings, OfShapesWithoutAMesh) {
  for (const char* text : {"pod ring 3 of hosts with 8 chips\nhybrid cube mesh",
                           "pod mesh 2x2 of hosts with 8 chips\nhybrid cube mesh",
                           "pod ring 4 of hosts with 4 chips\nswitch 4"}) {
    const Fabric f = fabric(text);
    EXPECT_EQ(check_rings(f, rings(f).cycles), "") << text;
  }
}

TEST(Rings, AroundHoles) {
  expect_rings("mesh 4x4\ndead chips 5,6", 1);
  expect_rings("mesh 4x4\ndead chip 5", 0);
  expect_rings("mesh 4x4\ndead chips 0,1", 1);
  expect_rings("mesh 4x4\ndead link 0-1", 0);
  expect_rings("mesh 4x4\ndead link 5-6", 1);
  expect_rings("torus 4x4\ndead link 0-1", 1);
  expect_rings("full 8\ndead chip 3", 3);
  expect_rings("hybrid cube mesh\ndead link 0-4", 1);
  expect_rings("2 hosts\nring 4", 0);
  EXPECT_EQ(
      rings(fabric("mesh 4x4\ndead chip 5")).why,
      "no ring visits all 15 chips: the largest part that no single chip cuts has 8 chips of one colour of a "
      "chessboard and 7 of the other, which a ring visits by turns");
}

TEST(Rings, TheCheckerSeesMistakes) {
  const Fabric f = fabric("ring 4");
  EXPECT_EQ(check_rings(f, {{0, 1, 2, 3}}), "");
  EXPECT_NE(check_rings(f, {{0, 1, 2}}), "");
  EXPECT_NE(check_rings(f, {{0, 2, 1, 3}}), "");
  EXPECT_NE(check_rings(f, {{0, 1, 2, 2}}), "");
  EXPECT_NE(check_rings(f, {{0, 1, 2, 3}, {3, 2, 1, 0}}), "");
}

void expect_trees(std::string_view room, uint32_t shared, uint32_t deepest) {
  const Fabric f = fabric(room);
  const DoubleTree t = double_tree(f);
  ASSERT_EQ(t.trees.size(), 2u) << room << ": " << t.why;
  EXPECT_EQ(check_trees(f, t), "") << room;
  EXPECT_EQ(t.shared, shared) << room;
  EXPECT_LE(std::max(t.trees[0].depth, t.trees[1].depth), deepest) << room;
}

TEST(Trees, ShareAsFewLinksAsCanBe) {
  expect_trees("ring 8", 6, 4);
  expect_trees("line 8", 7, 4);
  expect_trees("full 8", 0, 4);
  expect_trees("hybrid cube mesh", 0, 7);
  expect_trees("mesh 4x4", 6, 12);      // 24 links, of 30
  expect_trees("mesh 16x16", 30, 255);  // 480 links, of 510
  expect_trees("torus 4x4", 0, 15);
  expect_trees("torus 4x4x4", 0, 32);
  expect_trees("torus 4x4\ndead chip 5\ndead link 0-1", 1, 15);
  expect_trees("switch 8", 0, 3);
  EXPECT_EQ(double_tree(fabric("2 hosts\nring 4")).why, "the chips that work do not all hang together");
}

}  // namespace
}  // namespace plait::topology
