// Places for jobs: against exhaustive search where that can be, by their own proofs elsewhere.
#include "topology/place.h"

#include <gtest/gtest.h>

#include <random>

#include "topology/cycles.h"
#include "topology/room.h"

namespace plait::topology {
namespace {

Room room_of(const std::string& text) {
  const auto room = parse_room(text, "room.txt");
  EXPECT_TRUE(room.ok()) << room.status().text();
  return *room;
}
Placement placed(const Room& room, std::string_view shape, uint32_t chips) {
  const auto f = fabric_of(room);
  const auto job = parse_job(shape, chips);
  EXPECT_TRUE(f.ok() && job.ok());
  Placement p = place(*f, *job);
  EXPECT_EQ(p.found ? check_place(*f, *job, p.chips) : "", "") << describe(*job);
  return p;
}
Room with_taken(const std::string& shape, double share, unsigned seed) {
  Room room = room_of(shape);
  std::mt19937 random(seed);
  for (uint32_t c = 0; c < room.chips(); c++) {
    if (double(random() % 1000) < share * 1000) room.taken_chips.push_back(c);
  }
  return room;
}

// For every set of chips whether a ring visits all of it: chips reached from the smallest, set by set.
std::vector<bool> ring_sets(const Fabric& f) {
  const uint32_t n = f.chips();
  std::vector<uint32_t> near(n, 0), ends(size_t{1} << n, 0);
  for (const auto& e : f.edges()) near[e.a] |= 1u << e.b, near[e.b] |= 1u << e.a;
  std::vector<bool> ring(size_t{1} << n, false);
  for (uint32_t set = 1; set < 1u << n; set++) {
    const uint32_t first = uint32_t(__builtin_ctz(set));
    if ((set & (set - 1)) == 0) ends[set] = set;
    for (uint32_t c = first; c < n; c++) {
      if (!(ends[set] >> c & 1)) continue;
      if ((near[c] >> first & 1) && __builtin_popcount(set) >= 3) ring[set] = true;
      for (uint32_t to = first + 1; to < n; to++) {
        if ((near[c] >> to & 1) && !(set >> to & 1)) ends[set | 1u << to] |= 1u << to;
      }
    }
  }
  return ring;
}

// For each set of free chips the lengths of its rings, a bit each.
std::vector<uint32_t> ring_lengths(const Fabric& f) {
  const std::vector<bool> ring = ring_sets(f);
  std::vector<uint32_t> lengths(ring.size(), 0);
  for (uint32_t set = 0; set < ring.size(); set++) {
    if (ring[set]) lengths[set] |= 1u << __builtin_popcount(set);
    for (uint32_t rest = set; rest != 0; rest &= rest - 1)
      lengths[set] |= lengths[set ^ (rest & (~rest + 1))];
  }
  return lengths;
}

void compare_all(const std::string& shape, uint32_t every) {
  Room room = room_of(shape);
  const uint32_t n = uint32_t(room.chips());
  const std::vector<uint32_t> lengths = ring_lengths(*fabric_of(room));
  for (uint32_t set = 0; set < lengths.size(); set += every) {
    room.taken_chips.clear();
    for (uint32_t c = 0; c < n; c++) {
      if (!(set >> c & 1)) room.taken_chips.push_back(c);
    }
    const auto f = fabric_of(room);
    for (uint32_t k = 3; k <= n; k++) {
      const Placement p = place(*f, {JobShape::ring, k, {}});
      ASSERT_EQ(p.found, (lengths[set] >> k & 1) == 1)
          << shape << ", free " << std::hex << set << ", ring of " << k;
      ASSERT_TRUE(p.proven);
      ASSERT_EQ(p.found ? check_place(*f, {JobShape::ring, k, {}}, p.chips) : "", "");
      ASSERT_NE(p.found, !p.why.empty());
    }
  }
}

// With each set of chips free.
TEST(PlaceRing, AsExhaustiveSearchOnAllMeshesUpTo4x4) {
#ifdef PLAIT_SANITIZED
  constexpr uint32_t kEvery = 7;  // many times as slow
#else
  constexpr uint32_t kEvery = 1;
#endif
  for (int a = 1; a <= 4; a++) {
    for (int b = a; b <= 4; b++)
      compare_all("mesh " + std::to_string(a) + "x" + std::to_string(b), a * b == 16 ? kEvery : 1);
  }
}
TEST(PlaceRing, AsExhaustiveSearchElsewhere) {
  compare_all("hybrid cube mesh", 1);
  compare_all("full 6", 1);
  compare_all("torus 3x3", 1);
  compare_all("mesh 2x2x2", 1);
}

TEST(PlaceRing, OnALargeMeshWithHoles) {
  for (unsigned seed = 1; seed <= 4; seed++) {
    const Room room = with_taken("mesh 16x16", 0.3, seed);
    for (uint32_t k = 4; k <= 16; k += 2) {
      const Placement p = placed(room, "ring", k);
      EXPECT_TRUE(p.proven) << "seed " << seed << ", " << k << ": " << p.why;
    }
    for (uint32_t k : {24u, 40u, 64u}) {
      const Placement p = placed(room, "ring", k);
      EXPECT_TRUE(p.found || !p.why.empty());
      EXPECT_LE(p.chips.size(), p.bound);
      EXPECT_GE(p.chips.size(), std::min(p.bound, 20u)) << "seed " << seed << ", " << k << ": " << p.why;
    }
  }
}

TEST(PlaceRing, SaysWhyThereIsNone) {
  const Room mesh = room_of("mesh 4x4\ntaken 5");
  EXPECT_EQ(placed(mesh, "ring", 7).why,
            "rings here have an even number of chips, as every link joins a black and a white field of a "
            "chessboard; "
            "7 is odd");
  EXPECT_EQ(placed(mesh, "ring", 16).why, "15 chips are free, 16 are wanted");
  EXPECT_EQ(placed(room_of("line 8"), "ring", 4).why,
            "no ring of free chips is longer than 0: the free chips have no cycle among them");
  EXPECT_TRUE(placed(mesh, "ring", 14).found);
  EXPECT_TRUE(placed(room_of("switch 8"), "ring", 7).found);
}

TEST(PlaceRing, LeavesTheOthersTogether) {
  // In a corner a ring cuts off fewer than in the middle.
  const Placement p = placed(room_of("mesh 8x8"), "ring", 4);
  EXPECT_EQ(p.edge, 4u);
  EXPECT_EQ(p.chips, (std::vector<uint32_t>{0, 1, 9, 8}));
}

TEST(PlaceRing, WholeMeshes) {
  EXPECT_TRUE(placed(room_of("mesh 8x8"), "ring", 64).found);
  EXPECT_TRUE(placed(room_of("mesh 16x16"), "ring", 128).found);
}

TEST(PlaceOthers, LinesMeshesAndTrees) {
  const Room room = with_taken("mesh 16x16", 0.3, 9);
  EXPECT_TRUE(placed(room, "line", 12).found);
  EXPECT_TRUE(placed(room, "connected", 40).found);
  EXPECT_TRUE(placed(room_of("mesh 4x4\ntaken 0-3"), "3x4", 0).found);
  EXPECT_TRUE(placed(room_of("mesh 4x4\ntaken 0,4,8,12"), "3x4", 0).found);
  EXPECT_FALSE(placed(room_of("mesh 4x4\ntaken 5"), "3x4", 0).found);
  EXPECT_TRUE(placed(room_of("torus 4x4x4"), "2x2x2", 8).found);
  EXPECT_TRUE(placed(room_of("torus 4x4\ntaken 1,2,5,6,9,10,13,14"), "4x2", 8).found);
  EXPECT_EQ(placed(room_of("line 4\ntaken 1"), "line", 3).why,
            "no more than 2 free chips hang together, 3 are wanted");
}

TEST(PlaceOthers, ShapesAreChecked) {
  for (const char* wrong : {"", "4x", "x4", "circle", "4x4x", "0x4", "99999x99999"})
    EXPECT_FALSE(parse_job(wrong, 0).ok());
  EXPECT_FALSE(parse_job("4x4", 8).ok());
  EXPECT_FALSE(parse_job("ring", 0).ok());
}

}  // namespace
}  // namespace plait::topology
