// What ranks tell of keys, and what comes of it.
#include "runtime/queue/keys.h"

#include <gtest/gtest.h>

namespace plait::runtime::queue {
namespace {

Tensor tensor(uint64_t key, uint64_t count, int32_t priority = 0) {
  return {.key = key, .count = count, .dtype = 7, .op = 0, .priority = priority};
}

TEST(QueueKeys, GetSlotsInTheOrderOfTheirTelling) {
  Keys keys(10);
  std::vector<uint32_t> changed;
  const std::vector<Told> told = {
      {0, tensor(70, 1)}, {0, tensor(50, 2)}, {1, tensor(50, 2)}, {1, tensor(9, 3)}};
  ASSERT_TRUE(keys.merge(told, &changed).ok());
  EXPECT_EQ(keys.size(), 3u);
  EXPECT_EQ(keys.find(70), 0u);
  EXPECT_EQ(keys.find(50), 1u);
  EXPECT_EQ(keys.find(9), 2u);
  EXPECT_EQ(keys.find(8), Keys::kNone);
  EXPECT_EQ(keys[2].count, 3u);
  EXPECT_TRUE(changed.empty());
}

TEST(QueueKeys, OfTwoKindsNameBothRanks) {
  Keys keys(10);
  std::vector<uint32_t> changed;
  const std::vector<Told> first = {{2, tensor(7, 100)}}, second = {{4, tensor(7, 100, 5)}};
  ASSERT_TRUE(keys.merge(first, &changed).ok());
  const Status status = keys.merge(second, &changed);
  EXPECT_EQ(status.code(), Code::mismatch);
  const std::string text(status.text());
  for (const char* part : {"tensor 7", "rank 2 pushed count 100, float32, sum, priority 0",
                           "rank 4 pushed count 100, float32, sum, priority 5"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(QueueKeys, MayBecomeOfAnotherKindOnceSettled) {
  Keys keys(10);
  std::vector<uint32_t> changed;
  const std::vector<Told> first = {{0, tensor(7, 100)}}, second = {{1, tensor(7, 200)}};
  ASSERT_TRUE(keys.merge(first, &changed).ok());
  keys.settle(0);
  ASSERT_TRUE(keys.merge(second, &changed).ok());
  EXPECT_EQ(changed, std::vector<uint32_t>{0});
  EXPECT_EQ(keys[0].count, 200u);
  EXPECT_EQ(keys.merge(first, &changed).code(), Code::mismatch);  // it is open again
}

TEST(QueueKeys, AreAtMostSoMany) {
  Keys keys(1);
  std::vector<uint32_t> changed;
  const std::vector<Told> told = {{0, tensor(1, 1)}, {0, tensor(2, 1)}};
  EXPECT_EQ(keys.merge(told, &changed).code(), Code::invalid);
}

}  // namespace
}  // namespace plait::runtime::queue
