#include "collectives/hierarchy.h"

#include <gtest/gtest.h>

#include "collectives/group.h"

namespace plait::collectives {
namespace {

TEST(Hierarchy, NumbersUnitsOfUnevenLevels) {
  auto made = Hierarchy::make({{3, 2, 1, 2}, {3, 1}, {2}});
  ASSERT_TRUE(made.ok()) << made.status().text();
  const Hierarchy& h = *made;
  EXPECT_EQ(h.n(), 8);
  EXPECT_EQ(h.levels(), 3);
  EXPECT_EQ(h.groups(0), 4);
  EXPECT_EQ(h.largest(0), 3);
  EXPECT_EQ(h.first(0, 2), 5);
  EXPECT_EQ(h.size(0, 2), 1);
  EXPECT_EQ(h.size(1, 1), 1);
  for (int r = 0; r < 8; r++) EXPECT_EQ(h.group_of(0, r), r < 3 ? 0 : r < 5 ? 1 : r < 6 ? 2 : 3);
  EXPECT_EQ(h.group_of(1, 2), 0);
  EXPECT_EQ(h.group_of(1, 3), 1);
}

TEST(Hierarchy, AlikeGroupsAreNotListed) {
  auto made = Hierarchy::make({{8}, {64}, {128}});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->n(), 65536);
  EXPECT_EQ(made->group_of(0, 65535), 8191);
  EXPECT_EQ(made->first(1, 127), 127 * 64);
  EXPECT_EQ(made->size(2, 0), 128);
}

TEST(Hierarchy, PlacesRanks) {
  auto made = Hierarchy::make({{2}, {2}}, {0, 2, 1, 3});
  ASSERT_TRUE(made.ok());
  EXPECT_FALSE(made->in_order());
  EXPECT_EQ(made->rank_at(1), 2);
  EXPECT_EQ(made->position_of(1), 2);
  EXPECT_TRUE(Hierarchy::make({{2}, {2}}, {0, 1, 2, 3})->in_order());
}

TEST(Hierarchy, RefusesWhatDoesNotFit) {
  auto refused = [](std::vector<std::vector<int>> sizes, std::vector<int32_t> order, const char* why) {
    auto made = Hierarchy::make(std::move(sizes), std::move(order));
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.status().code(), Code::invalid);
    EXPECT_NE(made.status().text().find(why), std::string_view::npos) << made.status().text();
  };
  refused({{2, 2, 2}, {2}}, {}, "a level has 2 groups, and 3 sizes are given");
  refused({{2, 0}, {2}}, {}, "a group has no members");
  refused({{}, {2}}, {}, "0 sizes are given");
  refused({{1 << 20}, {1 << 20}}, {}, "ranks");
  refused({{2}}, {0}, "there are 2 ranks, and an order of 1");
  refused({{2}}, {0, 0}, "names rank 0 twice");
  refused({{2}}, {0, 2}, "names rank 2");
}

TEST(Shards, OwnersAndShardsAreInverse) {
  for (int shards = 1; shards <= 12; shards++) {
    for (int owners = 1; owners <= 12; owners++) {
      int next = 0;
      for (int i = 0; i < owners; i++) {
        Range mine = shards_of(shards, owners, i);
        EXPECT_EQ(int(mine.first), next);
        for (; next < int(mine.end()); next++) EXPECT_EQ(owner_of(shards, owners, next), i);
      }
      EXPECT_EQ(next, shards);
    }
  }
}

}  // namespace
}  // namespace plait::collectives
