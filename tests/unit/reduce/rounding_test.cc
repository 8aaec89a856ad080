// The 16-bit types: every value in and out, and every place where rounding turns.
#include <gtest/gtest.h>

#include <limits>

#include "fold.h"
#include "reference.h"
#include "targets_test.h"

namespace plait::collectives {
namespace {

using reference::bfloat;
using reference::half;

template <class T>
std::vector<T> every_value() {
  std::vector<T> all;
  for (uint32_t bits = 0; bits < 65536; bits++) all.push_back({static_cast<uint16_t>(bits)});
  return all;
}

template <class T>
void expect_same(const std::vector<T>& got, const std::vector<T>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); i++) {
    ASSERT_TRUE(reference::same(got[i], want[i])) << i << ": " << got[i].bits << " for " << want[i].bits;
  }
}

template <class T>
void every_value_survives(Dtype dtype) {
  const auto all = every_value<T>();
  expect_same(run<T>(dtype, ReduceOp::sum, {all}), all);
  expect_same(run<T>(dtype, ReduceOp::max, {all}), all);
  const std::vector<T> minus_zero(all.size(), T{0x8000});
  expect_same(run<T>(dtype, ReduceOp::sum, {all, minus_zero}), all);
  expect_same(run<T>(dtype, ReduceOp::avg, {all}, 1), all);
}

// Every value plus half, a quarter and three quarters of the distance to its neighbour, which other values
// provide exactly, and every value divided: ties, just below, just above, overflow, subnormal results.
template <class T>
void rounds_to_nearest_even(Dtype dtype) {
  const auto all = every_value<T>();
  const int mantissa = std::is_same_v<T, half> ? 10 : 7;
  for (int eighths : {1, 2, 3, 4, 5, 6, 7, 8, 12}) {
    std::vector<T> part;
    for (T v : all) {
      const double x = static_cast<double>(reference::widen(v));
      const double unit = std::isfinite(x) && x != 0 ? std::ldexp(1.0, std::ilogb(x) - mantissa) : 0;
      part.push_back(reference::narrow<T>(std::copysign(unit * eighths / 8, x)));
    }
    expect_same(run<T>(dtype, ReduceOp::sum, {all, part}), reference::fold<T>(ReduceOp::sum, {all, part}, 0));
  }
  for (uint32_t ranks : {2u, 3u, 7u, 8u, 1000u, 65536u, 4294967295u}) {
    expect_same(run<T>(dtype, ReduceOp::avg, {all}, ranks), reference::fold<T>(ReduceOp::avg, {all}, ranks));
  }
  std::vector<T> reversed(all.rbegin(), all.rend());
  expect_same(run<T>(dtype, ReduceOp::prod, {all, reversed}),
              reference::fold<T>(ReduceOp::prod, {all, reversed}, 0));
}

class RoundingTest : public EachTarget {};

TEST_P(RoundingTest, EveryFloat16Survives) { every_value_survives<half>(Dtype::float16); }
TEST_P(RoundingTest, EveryBfloat16Survives) { every_value_survives<bfloat>(Dtype::bfloat16); }
TEST_P(RoundingTest, Float16ToNearestEven) { rounds_to_nearest_even<half>(Dtype::float16); }
TEST_P(RoundingTest, Bfloat16ToNearestEven) { rounds_to_nearest_even<bfloat>(Dtype::bfloat16); }

// Known bits, so that the reference is not the only witness.
TEST_P(RoundingTest, Float16ByHand) {
  const std::vector<half> a = {{0x3C00}, {0x3C01}, {0x7BFF}, {0x7BFF},
                               {0x0001}, {0x7C00}, {0x7C01}, {0x3C00}};
  const std::vector<half> b = {{0x1000}, {0x1000}, {0x4BFF}, {0x4C00},
                               {0x0001}, {0xFC00}, {0x3C00}, {0xBC00}};
  // 1 + 2^-11 ties down to 1; 1.0009 + 2^-11 ties up; 65504 + 15.99 stays; 65504 + 16 is Inf; two subnormals;
  // Inf - Inf; a signalling NaN; 1 - 1 is +0.
  const auto sum = run<half>(Dtype::float16, ReduceOp::sum, {a, b});
  EXPECT_EQ(sum[0].bits, 0x3C00);
  EXPECT_EQ(sum[1].bits, 0x3C02);
  EXPECT_EQ(sum[2].bits, 0x7BFF);
  EXPECT_EQ(sum[3].bits, 0x7C00);
  EXPECT_EQ(sum[4].bits, 0x0002);
  EXPECT_TRUE(reference::is_nan(sum[5]));
  EXPECT_TRUE(reference::is_nan(sum[6]));
  EXPECT_EQ(sum[7].bits, 0x0000);
}

TEST_P(RoundingTest, Bfloat16ByHand) {
  const std::vector<bfloat> a = {{0x3F80}, {0x3F81}, {0x7F7F}, {0x7F81},
                                 {0xFF81}, {0x7FFF}, {0x0001}, {0x7F80}};
  const std::vector<bfloat> b = {{0x3B80}, {0x3B80}, {0x7B00}, {0x0000},
                                 {0x0000}, {0x0000}, {0x0001}, {0xFF80}};
  const auto sum = run<bfloat>(Dtype::bfloat16, ReduceOp::sum, {a, b});
  EXPECT_EQ(sum[0].bits, 0x3F80);
  EXPECT_EQ(sum[1].bits, 0x3F82);
  EXPECT_EQ(sum[2].bits, 0x7F80);
  for (size_t i : {3u, 4u, 5u, 7u}) EXPECT_TRUE(reference::is_nan(sum[i])) << i;
  EXPECT_EQ(sum[6].bits, 0x0002);
}

// A chain rounds once: 2048 + 1 + 1 is 2050 in float16, where rounding each sum would stay at 2048.
TEST_P(RoundingTest, ChainsRoundOnce) {
  const std::vector<half> big(40, half{0x6800}), one(40, half{0x3C00});
  for (half v : run<half>(Dtype::float16, ReduceOp::sum, {big, one, one})) EXPECT_EQ(v.bits, 0x6801);
  const auto pairwise = run<half>(Dtype::float16, ReduceOp::sum, {big, one});
  for (half v : run<half>(Dtype::float16, ReduceOp::sum, {pairwise, one})) EXPECT_EQ(v.bits, 0x6800);
  // And avg divides before that rounding.
  for (half v : run<half>(Dtype::float16, ReduceOp::avg, {big, one}, 2)) EXPECT_EQ(v.bits, 0x6400);
}

// A sum may overflow where the average does not, and bfloat16 reaches as far as what it is computed in.
TEST_P(RoundingTest, AveragesDoNotOverflow) {
  for (size_t n : {2u, 3u, 8u, 64u}) {
    const std::vector<std::vector<half>> halves(n, std::vector<half>(40, half{0x7B53}));  // 60000
    for (half v : run<half>(Dtype::float16, ReduceOp::avg, halves, uint32_t(n))) EXPECT_EQ(v.bits, 0x7B53);
    const std::vector<std::vector<bfloat>> largest(n, std::vector<bfloat>(40, bfloat{0x7F7F}));
    for (bfloat v : run<bfloat>(Dtype::bfloat16, ReduceOp::avg, largest, uint32_t(n)))
      EXPECT_EQ(v.bits, 0x7F7F);
    const std::vector<std::vector<bfloat>> smallest(n, std::vector<bfloat>(40, bfloat{0x8001}));
    for (bfloat v : run<bfloat>(Dtype::bfloat16, ReduceOp::avg, smallest, uint32_t(n)))
      EXPECT_EQ(v.bits, 0x8001);
  }
}

PLAIT_EACH_TARGET(RoundingTest);

}  // namespace
}  // namespace plait::collectives
