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
  EXPECT_EQ(find_dtype("float8_e4m3")->id, PLAIT_FLOAT8_E4M3);
  EXPECT_EQ(find_dtype("f8e5m2")->id, PLAIT_FLOAT8_E5M2);
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

TEST(Dtype, Float8OfKnownNumbers) {
  EXPECT_EQ(to_float8_e4m3(1.0f), 0x38);
  EXPECT_EQ(to_float8_e4m3(-448.0f), 0xfe);
  EXPECT_EQ(to_float8_e4m3(464.0f), 0x7e);  // halfway, to even
  EXPECT_EQ(to_float8_e4m3(464.1f), 0x7f);  // too large: NaN
  EXPECT_EQ(to_float8_e4m3(std::numeric_limits<float>::infinity()), 0x7f);
  EXPECT_EQ(to_float8_e4m3(0x1p-9f), 0x01);
  EXPECT_EQ(to_float8_e4m3(0x1p-10f), 0x00);        // halfway, to even
  EXPECT_EQ(to_float8_e4m3(1.0f + 0x1p-4f), 0x38);  // halfway, to even
  EXPECT_EQ(to_float8_e5m2(1.0f), 0x3c);
  EXPECT_EQ(to_float8_e5m2(-57344.0f), 0xfb);
  EXPECT_EQ(to_float8_e5m2(61439.0f), 0x7b);
  EXPECT_EQ(to_float8_e5m2(61440.0f), 0x7c);  // halfway to what would be the next number: infinity
  EXPECT_EQ(to_float8_e5m2(0x1p-16f), 0x01);
  EXPECT_EQ(to_float8_e5m2(3 * 0x1p-17f), 0x02);  // halfway, to even
}

// Every number is its own nearest, and so is what lies less than halfway to its neighbour.
TEST(Dtype, Float8OfEveryNumber) {
  for (int bits = 0; bits < 256; bits++) {
    double e4m3 = float8_e4m3_value(uint8_t(bits)), e5m2 = float8_e5m2_value(uint8_t(bits));
    for (double nudge : {1.0, 1.01, 0.99}) {
      if (!std::isnan(e4m3)) {
        EXPECT_EQ(to_float8_e4m3(float(e4m3 * nudge)), bits);
      }
      if (!std::isnan(e5m2)) {
        EXPECT_EQ(to_float8_e5m2(float(e5m2 * nudge)), bits);
      }
    }
  }
}

// What the patterns rest on: integers up to `exact` survive being stored.
TEST(Dtype, ExactMeansExact) {
  for (const Dtype& d : all_dtypes()) {
    if (!d.is_float || d.size > 2) continue;
    for (int64_t i = 0; i <= d.exact; ++i) {
      auto value = float(i);
      double back = d.id == PLAIT_FLOAT16       ? float16_value(to_float16(value))
                    : d.id == PLAIT_BFLOAT16    ? bfloat16_value(to_bfloat16(value))
                    : d.id == PLAIT_FLOAT8_E4M3 ? float8_e4m3_value(to_float8_e4m3(value))
                                                : float8_e5m2_value(to_float8_e5m2(value));
      ASSERT_EQ(back, double(i)) << d.name;
    }
  }
}

}  // namespace
}  // namespace plait::perf
