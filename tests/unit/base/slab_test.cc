#include "base/slab.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace plait {
namespace {

struct Item {
  Item* next = nullptr;
  uint64_t value = 7;
  std::byte room[240];
};

TEST(Slab, GivesWhatNobodyHolds) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Slab<Item> slab;
  ASSERT_TRUE(slab.reserve(100));
  ASSERT_TRUE(slab.reserve(300));
  std::vector<Item*> held;
  for (uint64_t i = 1; i <= 20'000; i++) {
    if (held.empty() || (held.size() < 400 && random() % 2 == 0)) {
      Item& item = slab.take();
      EXPECT_EQ(item.value, 7u) << "made anew";
      item.value = 1000 + i;
      for (const Item* other : held) ASSERT_NE(other, &item);
      held.push_back(&item);
    } else {
      const size_t at = random() % held.size();
      EXPECT_GT(held[at]->value, 1000u);
      slab.give(*held[at]);
      held[at] = held.back();
      held.pop_back();
    }
    ASSERT_EQ(slab.used(), held.size());
  }
}

TEST(Slab, TouchesNoMoreThanWasHeldAtOnce) {
  Slab<Item> slab;
  ASSERT_TRUE(slab.reserve(10'000));
  EXPECT_EQ(slab.touched_bytes(), 0u);
  for (int i = 0; i < 1000; i++) {
    Item &one = slab.take(), &two = slab.take();
    slab.give(one);
    slab.give(two);
  }
  EXPECT_EQ(slab.touched_bytes(), 2 * sizeof(Item));
}

TEST(Slab, TrimmedItGivesAllBackAndWorksOn) {
  Slab<Item> slab;
  ASSERT_TRUE(slab.reserve(1000));
  SlabQueue<Item> queue(slab);
  for (int round = 0; round < 3; round++) {
    for (uint64_t i = 0; i < 1000; i++) queue.push().value = i;
    slab.trim();
    EXPECT_EQ(slab.touched_bytes(), 1000 * sizeof(Item)) << "while something is held nothing goes";
    for (uint64_t i = 0; i < 1000; i++, queue.pop()) EXPECT_EQ(queue.front().value, i);
    EXPECT_TRUE(queue.empty());
    slab.trim();
    EXPECT_EQ(slab.touched_bytes(), 0u);
  }
}

}  // namespace
}  // namespace plait
