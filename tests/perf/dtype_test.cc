#include "perf/dtype.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "tests/perf/half.h"
#include "tests/support/half.h"

namespace plait::perf {
namespace {

TEST(Dtype, FindsByNameAndAlias) {
  EXPECT_EQ(find_dtype("float32")->id, PLAIT_FLOAT32);
  EXPECT_EQ(find_dtype("half")->id, PLAIT_FLOAT16);
  EXPECT_EQ(find_dtype("bf16")->id, PLAIT_BFLOAT16);
  EXPECT_EQ(find_dtype("float8"), nullptr);
  EXPECT_EQ(find_dtype(""), nullptr);
  EXPECT_EQ(find_op("avg")->id, PLAIT_AVG);
  EXPECT_EQ(find_op("mean"), nullptr);
}

TEST(Dtype, Float16OfKnownNumbers) {
  EXPECT_EQ(to_float16(0.0f), 0x0000);
  EXPECT_EQ(to_float16(-0.0f), 0x8000);
  EXPECT_EQ(to_float16(1.0f), 0x3c00);
  EXPECT_EQ(to_float16(-2.0f), 0xc000);
  EXPECT_EQ(to_float16(2048.0f), 0x6800);
  EXPECT_EQ(to_float16(65504.0f), 0x7bff);
  EXPECT_EQ(to_float16(65520.0f), 0x7c00);
  EXPECT_EQ(to_float16(65519.9f), 0x7bff);
  EXPECT_EQ(to_float16(0x1p-14f), 0x0400);
  EXPECT_EQ(to_float16(0x1p-24f), 0x0001);
  EXPECT_EQ(to_float16(0x1p-25f), 0x0000);         // halfway, to even
  EXPECT_EQ(to_float16(1.0f + 0x1p-11f), 0x3c00);  // halfway, to even
  EXPECT_EQ(to_float16(1.0f + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(to_float16(std::numeric_limits<float>::infinity()), 0x7c00);
}

TEST(Dtype, Float16AsTheCompilerRounds) {
  for (uint32_t bits = 0; bits < 0x7f800000; bits += 40503) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    ASSERT_EQ(to_float16(value), test::half_bits(value)) << value;
    ASSERT_EQ(to_float16(-value), test::half_bits(-value)) << -value;
  }
}

TEST(Dtype, Bfloat16RoundsToNearestEven) {
  EXPECT_EQ(to_bfloat16(1.0f), 0x3f80);
  EXPECT_EQ(to_bfloat16(-256.0f), 0xc380);
  EXPECT_EQ(to_bfloat16(1.0f + 0x1p-8f), 0x3f80);      // halfway, to even
  EXPECT_EQ(to_bfloat16(1.0f + 3 * 0x1p-8f), 0x3f82);  // halfway, to even
  EXPECT_EQ(to_bfloat16(1.0f + 0x1p-8f + 0x1p-20f), 0x3f81);
  EXPECT_TRUE((to_bfloat16(std::numeric_limits<float>::quiet_NaN()) & 0x7f) != 0);
}

// What the patterns rest on: integers up to `exact` survive being stored.
TEST(Dtype, ExactMeansExact) {
  for (const Dtype& d : all_dtypes()) {
    if (d.size != 2) continue;
    for (int64_t i = 0; i <= d.exact; ++i) {
      double back =
          d.id == PLAIT_FLOAT16 ? float16_value(to_float16(float(i))) : bfloat16_value(to_bfloat16(float(i)));
      ASSERT_EQ(back, double(i)) << d.name;
    }
  }
}

}  // namespace
}  // namespace plait::perf
