// The 8-bit types: every pair of values through every operator, and known bits.
#include <gtest/gtest.h>

#include "fold.h"
#include "reference.h"
#include "targets_test.h"

namespace plait::collectives {
namespace {

using reference::e4m3;
using reference::e5m2;

template <class T>
void every_pair(Dtype dtype) {
  std::vector<T> a, b;
  for (uint32_t x = 0; x < 256; x++) {
    for (uint32_t y = 0; y < 256; y++) {
      a.push_back({static_cast<uint8_t>(x)});
      b.push_back({static_cast<uint8_t>(y)});
    }
  }
  for (auto op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::min, ReduceOp::avg}) {
    for (uint32_t ranks : {0u, 2u, 3u, 1000u}) {
      if (op != ReduceOp::avg && ranks != 0) continue;
      const auto got = run<T>(dtype, op, {a, b}, ranks);
      const auto want = reference::fold<T>(op, {a, b}, ranks);
      for (size_t i = 0; i < a.size(); i++) {
        ASSERT_TRUE(reference::same(got[i], want[i]))
            << "op " << int(op) << " of " << int(a[i].bits) << " and " << int(b[i].bits) << " over " << ranks
            << ": " << int(got[i].bits) << " for " << int(want[i].bits);
      }
    }
  }
}

template <class T>
uint8_t bits(Dtype dtype, ReduceOp op, uint8_t a, uint8_t b, uint32_t ranks = 0) {
  return run<T>(dtype, op, {{T{a}}, {T{b}}}, ranks)[0].bits;
}

class QuarterTest : public EachTarget {};

TEST_P(QuarterTest, EveryPairOfE4m3) { every_pair<e4m3>(Dtype::float8_e4m3); }
TEST_P(QuarterTest, EveryPairOfE5m2) { every_pair<e5m2>(Dtype::float8_e5m2); }

// Known bits, so that the reference is not the only witness.
TEST_P(QuarterTest, E4m3ByHand) {
  constexpr auto kType = Dtype::float8_e4m3;
  auto sum = [](uint8_t a, uint8_t b) { return bits<e4m3>(kType, ReduceOp::sum, a, b); };
  EXPECT_EQ(sum(0x38, 0x38), 0x40);         // 1 + 1
  EXPECT_EQ(sum(0x38, 0x18), 0x38);         // 1 + 2^-4 ties down to 1
  EXPECT_EQ(sum(0x39, 0x18), 0x3A);         // 1.125 + 2^-4 ties up
  EXPECT_EQ(sum(0x01, 0x01), 0x02);         // 2^-9 + 2^-9, subnormal
  EXPECT_EQ(sum(0x07, 0x01), 0x08);         // up to the first normal number
  EXPECT_EQ(sum(0x7E, 0x48), 0x7E);         // 448 + 4 rounds to 448
  EXPECT_EQ(sum(0x7E, 0x58), 0x7E);         // 448 + 16 ties to even: 448
  EXPECT_EQ(sum(0x7E, 0x59), 0x7F);         // 448 + 18 overflows: NaN
  EXPECT_EQ(sum(0xFE, 0xFE), 0xFF);         // -896, too
  EXPECT_EQ(sum(0x7F, 0x00) & 0x7F, 0x7F);  // NaN stays
  EXPECT_EQ(sum(0x80, 0x80), 0x80);         // -0 + -0
  EXPECT_EQ(sum(0x38, 0xB8), 0x00);         // 1 - 1
  EXPECT_EQ(bits<e4m3>(kType, ReduceOp::min, 0x00, 0x80), 0x80);
  EXPECT_EQ(bits<e4m3>(kType, ReduceOp::max, 0x7E, 0x7F) & 0x7F, 0x7F);
  EXPECT_EQ(bits<e4m3>(kType, ReduceOp::avg, 0x7E, 0x7E, 2), 0x7E);  // no overflow on the way
}

TEST_P(QuarterTest, E5m2ByHand) {
  constexpr auto kType = Dtype::float8_e5m2;
  auto sum = [](uint8_t a, uint8_t b) { return bits<e5m2>(kType, ReduceOp::sum, a, b); };
  EXPECT_EQ(sum(0x3C, 0x3C), 0x40);         // 1 + 1
  EXPECT_EQ(sum(0x3C, 0x30), 0x3C);         // 1 + 2^-3 ties down to 1
  EXPECT_EQ(sum(0x3D, 0x30), 0x3E);         // 1.25 + 2^-3 ties up
  EXPECT_EQ(sum(0x01, 0x03), 0x04);         // up to the first normal number
  EXPECT_EQ(sum(0x7B, 0x6B), 0x7B);         // 57344 + 3584 stays
  EXPECT_EQ(sum(0x7B, 0x6C), 0x7C);         // 57344 + 4096 ties to even: infinity
  EXPECT_EQ(sum(0x7C, 0x3C), 0x7C);         // infinity + 1
  EXPECT_GT(sum(0x7C, 0xFC) & 0x7F, 0x7C);  // infinity - infinity is NaN
  EXPECT_GT(sum(0x7D, 0x3C) & 0x7F, 0x7C);
  EXPECT_EQ(bits<e5m2>(kType, ReduceOp::max, 0xFC, 0xFB), 0xFB);
  EXPECT_EQ(bits<e5m2>(kType, ReduceOp::avg, 0x7B, 0x7B, 2), 0x7B);
}

PLAIT_EACH_TARGET(QuarterTest);

}  // namespace
}  // namespace plait::collectives
