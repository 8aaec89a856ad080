// In which order tensors are taken, how they are fused and cut.
#include "runtime/queue/line.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace plait::runtime::queue {
namespace {

constexpr int32_t kFloat = 7, kDouble = 8, kSum = 0, kAvg = 4;

Tensor tensor(uint64_t bytes, int32_t priority = 0, int32_t dtype = kFloat, int32_t op = kSum) {
  Tensor t{.count = 0, .dtype = dtype, .op = op, .priority = priority};
  t.count = bytes / t.element();
  return t;
}

std::vector<uint32_t> slots_of(const Batch& batch, size_t work) {
  const Work& w = batch.work[work];
  return {batch.slots.begin() + w.first, batch.slots.begin() + w.first + w.tensors};
}

TEST(QueueLine, HighPrioritiesGoFirstThenRoundsThenSlots) {
  Line line;
  const Sizes one_by_one{.fuse = 0, .chunk = 1 << 20, .window = 1 << 30};
  line.add(5, tensor(64));
  line.add(3, tensor(64));
  line.close_round();
  line.add(1, tensor(64));
  line.add(9, tensor(64, 2));
  line.add(8, tensor(64, -1));
  line.close_round();
  Batch batch;
  line.take(one_by_one, &batch);
  EXPECT_EQ(batch.slots, (std::vector<uint32_t>{9, 3, 5, 1, 8}));
  EXPECT_TRUE(line.empty());
  EXPECT_EQ(line.bytes(), 0u);
}

TEST(QueueLine, FusesWhatIsOfOneKindAndFits) {
  Line line;
  line.add(0, tensor(400));
  line.add(1, tensor(400, 0, kDouble));
  line.add(2, tensor(400, 0, kFloat, kAvg));
  line.add(3, tensor(400));
  line.add(4, tensor(400));  // does not fit
  line.add(5, tensor(200));
  line.close_round();
  Batch batch;
  line.take({.fuse = 1000, .chunk = 1 << 20, .window = 1 << 20}, &batch);
  ASSERT_EQ(batch.work.size(), 4u);
  EXPECT_EQ(slots_of(batch, 0), (std::vector<uint32_t>{0, 3, 5}));
  EXPECT_EQ(batch.work[0].bytes, 1000u);
  EXPECT_EQ(batch.work[0].count, 250u);
  EXPECT_EQ(slots_of(batch, 1), std::vector<uint32_t>{1});
  EXPECT_EQ(slots_of(batch, 2), std::vector<uint32_t>{2});
  EXPECT_EQ(slots_of(batch, 3), std::vector<uint32_t>{4});
}

TEST(QueueLine, CutsLargeOnesAndLetsOthersOvertake) {
  Line line;
  const Sizes sizes{.fuse = 64, .chunk = 1000, .window = 2000};
  line.add(0, tensor(4100));
  line.close_round();
  Batch batch;
  line.take(sizes, &batch);
  ASSERT_EQ(batch.work.size(), 1u);
  EXPECT_EQ(batch.work[0].offset, 0u);
  EXPECT_EQ(batch.work[0].bytes, 1000u);
  line.add(1, tensor(1000, 1));
  line.close_round();
  batch.clear();
  line.take(sizes, &batch);
  EXPECT_EQ(batch.slots, std::vector<uint32_t>{1});
  for (uint64_t offset : {250u, 500u, 750u}) {
    batch.clear();
    line.take(sizes, &batch);
    ASSERT_EQ(batch.work.size(), 1u);
    EXPECT_EQ(batch.slots, std::vector<uint32_t>{0});
    EXPECT_EQ(batch.work[0].offset, offset);
    EXPECT_EQ(batch.work[0].bytes, offset == 750 ? 1100u : 1000u);  // no short piece is left
  }
  EXPECT_TRUE(line.empty());
}

TEST(QueueLine, EmptyTensorsAreTaken) {
  Line line;
  line.add(0, tensor(0));
  line.add(1, tensor(0));
  line.close_round();
  Batch batch;
  line.take({.fuse = 1, .chunk = 1, .window = 0}, &batch);
  ASSERT_EQ(batch.work.size(), 1u);
  EXPECT_EQ(batch.work[0].tensors, 2u);
  EXPECT_TRUE(line.empty());
}

// Two ranks add the same in another order within a round: they take the same. Each element is taken once.
TEST(QueueLine, TakesTheSameWhateverTheOrderOfAdding) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int repeat = 0; repeat < 50; repeat++) {
    const Sizes sizes{.fuse = random() % 3000, .chunk = 1 + random() % 5000, .window = random() % 20'000};
    Line lines[2];
    std::map<uint32_t, uint64_t> left;
    Batch batches[2];
    uint32_t slot = 0;
    for (int round = 0; round < 8 || !lines[0].empty(); round++) {
      std::vector<std::pair<uint32_t, Tensor>> added;
      for (uint32_t i = round < 8 ? uint32_t(random() % 20) : 0; i > 0; i--) {
        added.emplace_back(
            slot, tensor(random() % 10'000, int32_t(random() % 3), kFloat, random() % 2 ? kSum : kAvg));
        left[slot++] = added.back().second.count;
      }
      for (Line& line : lines) {
        std::shuffle(added.begin(), added.end(), random);
        for (const auto& [s, t] : added) line.add(s, t);
        line.close_round();
      }
      for (int i = 0; i < 2; i++) {
        batches[i].clear();
        lines[i].take(sizes, &batches[i]);
      }
      ASSERT_EQ(batches[0].slots, batches[1].slots);
      ASSERT_EQ(batches[0].work.size(), batches[1].work.size());
      for (const Work& w : batches[0].work) {
        uint64_t count = 0;
        for (uint32_t i = 0; i < w.tensors; i++) {
          uint64_t& rest = left[batches[0].slots[w.first + i]];
          const uint64_t taken = w.tensors > 1 ? rest : w.count;
          count += taken;
          ASSERT_LE(taken, rest);
          rest -= taken;
        }
        ASSERT_EQ(count, w.count);
      }
    }
    for (const auto& [s, rest] : left) ASSERT_EQ(rest, 0u) << "slot " << s;
  }
}

}  // namespace
}  // namespace plait::runtime::queue
