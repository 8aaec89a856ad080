// Sizes that blocks are rounded to, and which of the blocks that are kept is taken next.
#include "transport/shm/kept.h"

#include <gtest/gtest.h>

#include <array>

namespace plait::transport::shm {
namespace {

template <class Classes>
void check_classes(size_t unit, size_t steps, size_t most) {
  for (size_t i = 0; Classes::bytes(i) <= most; i++) {
    const size_t bytes = Classes::bytes(i), next = Classes::bytes(i + 1);
    ASSERT_EQ(Classes::index(bytes), i) << bytes;
    ASSERT_EQ(Classes::index(bytes + 1), i + 1) << bytes;
    ASSERT_EQ(Classes::index(next), i + 1);
    ASSERT_EQ(bytes % unit, 0U);
    ASSERT_LE((next - bytes) * steps, std::max(bytes, steps * unit)) << bytes;
  }
}

TEST(SizeClasses, AreNumberedAndLoseLittle) {
  check_classes<SizeClasses<16, 4>>(16, 4, 8192);
  check_classes<Kept::Classes>(4096, 8, Kept::kMost);
  using Small = SizeClasses<16, 4>;
  EXPECT_EQ(Small::round_up(1), 16U);
  EXPECT_EQ(Small::round_up(128), 128U);
  EXPECT_EQ(Small::round_up(129), 160U);
  EXPECT_EQ(Small::round_up(7169), 8192U);
  for (size_t power = 16; power <= 8192; power *= 2) EXPECT_EQ(Small::round_up(power), power);
  for (size_t power = 4096; power <= Kept::kMost; power *= 2)
    EXPECT_EQ(Kept::Classes::round_up(power), power);
}

TEST(Kept, FitsTheSizesOfClassesOnly) {
  EXPECT_FALSE(Kept::fits(0));
  EXPECT_TRUE(Kept::fits(4096));
  EXPECT_FALSE(Kept::fits(4097));
  EXPECT_TRUE(Kept::fits(18 * 4096));
  EXPECT_FALSE(Kept::fits(17 * 4096));
  EXPECT_TRUE(Kept::fits(Kept::kMost));
  EXPECT_FALSE(Kept::fits(Kept::kMost + 4096));
}

struct Blocks {
  std::array<KeptBlock, 4> all;
  explicit Blocks(std::array<std::array<size_t, 2>, 4> offsets_and_pages) {
    for (size_t i = 0; i < 4; i++) {
      all[i].offset = offsets_and_pages[i][0] * 4096;
      all[i].bytes = offsets_and_pages[i][1] * 4096;
    }
  }
};

TEST(Kept, TakesTheLatestOfASizeAndGivesTheOldestOfAll) {
  Blocks blocks({{{1, 1}, {2, 2}, {4, 1}, {5, 2}}});
  Kept kept;
  EXPECT_EQ(kept.take_oldest(), nullptr);
  EXPECT_EQ(kept.take(4096, 4096), nullptr);
  for (auto& block : blocks.all) kept.put(block);
  EXPECT_EQ(kept.bytes(), 6U * 4096);
  EXPECT_EQ(kept.take(4096, 4096), &blocks.all[2]);
  kept.put(blocks.all[2]);
  EXPECT_EQ(kept.take_oldest(), &blocks.all[0]);
  EXPECT_EQ(kept.take_oldest(), &blocks.all[1]);
  EXPECT_EQ(kept.take_oldest(), &blocks.all[3]) << "the third was taken and put again";
  EXPECT_EQ(kept.take(4096, 4096), &blocks.all[2]);
  EXPECT_EQ(kept.take_oldest(), nullptr);
  EXPECT_EQ(kept.bytes(), 0U);
}

TEST(Kept, LooksForAnAlignedOne) {
  Blocks blocks({{{1, 1}, {4, 1}, {6, 1}, {3, 1}}});
  Kept kept;
  for (auto& block : blocks.all) kept.put(block);
  EXPECT_EQ(kept.take(4096, 4 * 4096), &blocks.all[1]);
  EXPECT_EQ(kept.take(4096, 4 * 4096), nullptr);
  EXPECT_EQ(kept.take(4096, 2 * 4096), &blocks.all[2]);
  EXPECT_EQ(kept.take(4096, 4096), &blocks.all[3]);
}

}  // namespace
}  // namespace plait::transport::shm
