// Which parts of the pool are free.
#include "transport/shm/free_ranges.h"

#include <gtest/gtest.h>

#include <array>

namespace plait::transport::shm {
namespace {

TEST(FreeRanges, TakeTheSmallestThatFits) {
  FreeRanges free;
  free.give(0, 300);
  free.give(1000, 100);
  free.give(2000, 200);
  EXPECT_EQ(free.take(100, 1), 1000U);
  EXPECT_EQ(free.take(150, 1), 2000U);
  EXPECT_EQ(free.take(50, 1), 2150U) << "what was left of it";
  EXPECT_EQ(free.take(301, 1), std::nullopt);
  EXPECT_EQ(free.take(300, 1), 0U);
  EXPECT_EQ(free.take(1, 1), std::nullopt);
}

TEST(FreeRanges, WhatLiesBesideAnAlignedPartStaysFree) {
  FreeRanges free;
  free.give(1, 98);
  EXPECT_EQ(free.take(32, 32), 32U);
  EXPECT_EQ(free.take(31, 1), 1U);
  EXPECT_EQ(free.take(35, 1), 64U);
  EXPECT_EQ(free.take(1, 1), std::nullopt);
}

TEST(FreeRanges, NeighboursAreOneRange) {
  const std::array<std::array<size_t, 3>, 6> orders = {
      {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};
  for (const auto& order : orders) {
    FreeRanges free;
    for (const size_t part : order) free.give(part * 10, 10);
    EXPECT_EQ(free.take(30, 1), 0U) << order[0] << order[1] << order[2];
  }
}

// More ranges than are tried are long enough, but lie so that none of them holds an aligned part.
TEST(FreeRanges, ALongerOneIsFoundBeyondManyThatAreOutOfPlace) {
  FreeRanges free;
  for (size_t i = 0; i < 100; i++) free.give(i * 128 + 1, 64);
  EXPECT_EQ(free.take(64, 64), std::nullopt);
  free.give(100'000, 128);
  EXPECT_EQ(free.take(64, 64), 100'032U);
}

}  // namespace
}  // namespace plait::transport::shm
