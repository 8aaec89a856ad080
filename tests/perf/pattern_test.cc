// The benchmark's check must itself be right: it passes what is right, and catches the mistakes that
// collectives make.
#include "perf/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "tests/perf/half.h"

namespace plait::perf {
namespace {

double load(const Dtype& d, const std::byte* from) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, d.size);
  switch (d.id) {
    case PLAIT_FLOAT64:
      return std::bit_cast<double>(bits);
    case PLAIT_FLOAT32:
      return double(std::bit_cast<float>(uint32_t(bits)));
    case PLAIT_BFLOAT16:
      return bfloat16_value(uint16_t(bits));
    case PLAIT_FLOAT8_E4M3:
      return float8_e4m3_value(uint8_t(bits));
    case PLAIT_FLOAT8_E5M2:
      return float8_e5m2_value(uint8_t(bits));
    default:
      return float16_value(uint16_t(bits));
  }
}

// One fold of two values, rounded to the type, as an implementation does it that goes from rank to rank.
double fold(const Dtype& d, plait_op op, double a, double b) {
  double value = op == PLAIT_PROD  ? a * b
                 : op == PLAIT_MIN ? std::min(a, b)
                 : op == PLAIT_MAX ? std::max(a, b)
                                   : a + b;
  std::byte stored[8];
  store_float(d, value, stored);
  return load(d, stored);
}

struct Ranks {
  const Dtype& dtype;
  plait_op op;
  int count;
  size_t elements;

  // The reduction over `order` of ranks, element by element.
  std::vector<std::byte> reduce(const Pattern& pattern, const std::vector<int>& order) const {
    std::vector<std::byte> one(elements * dtype.size), out(elements * dtype.size);
    std::vector<double> all(elements);
    for (size_t k = 0; k < order.size(); ++k) {
      pattern.fill(order[k], 0, elements, one.data());
      for (size_t i = 0; i < elements; ++i) {
        double value = load(dtype, one.data() + i * dtype.size);
        all[i] = k == 0 ? value : fold(dtype, op, all[i], value);
      }
    }
    for (size_t i = 0; i < elements; ++i) {
      store_float(dtype, op == PLAIT_AVG ? all[i] / count : all[i], out.data() + i * dtype.size);
    }
    return out;
  }
};

std::vector<int> forward(int n) {
  std::vector<int> order;
  for (int r = 0; r < n; ++r) order.push_back(r);
  return order;
}

class FloatPattern : public testing::TestWithParam<int> {};

TEST_P(FloatPattern, IsExactInAnyOrderOfFolds) {
  int n = GetParam();
  for (const Dtype& d : all_dtypes()) {
    if (!d.is_float) continue;
    for (const Op& op : all_ops()) {
      Pattern pattern(d, op.id, n, 7);
      Ranks ranks{d, op.id, n, 500};
      std::vector<int> order = forward(n);
      EXPECT_EQ(pattern.wrong_results(0, 500, ranks.reduce(pattern, order).data()), 0u) << d.name << op.name;
      std::vector<int> odd_first;
      for (int r = 1; r < n; r += 2) odd_first.push_back(r);
      for (int r = n - 1 - (n - 1) % 2; r >= 0; r -= 2) odd_first.push_back(r);
      EXPECT_EQ(pattern.wrong_results(0, 500, ranks.reduce(pattern, odd_first).data()), 0u)
          << d.name << op.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, FloatPattern, testing::Values(1, 2, 3, 4, 5, 8, 16, 33, 64, 300));

TEST(Pattern, CatchesARankCountedTwiceForAnother) {
  for (int n : {2, 3, 4, 8}) {
    for (const Dtype& d : all_dtypes()) {
      if (!d.is_float || d.exact < int64_t(n) * n) continue;  // float8 has no room for so many ranks
      for (plait_op op : {PLAIT_SUM, PLAIT_PROD, PLAIT_AVG}) {
        Pattern pattern(d, op, n, 1);
        Ranks ranks{d, op, n, 8};
        std::vector<int> order = forward(n);
        order[0] = n - 1;
        // Values of two ranks differ at every index, so not one element may pass.
        EXPECT_EQ(pattern.wrong_results(0, 8, ranks.reduce(pattern, order).data()), 8u)
            << d.name << " op " << op;
      }
    }
  }
}

TEST(Pattern, CatchesAMissingRankInMinAndMax) {
  for (const Dtype& d : all_dtypes()) {
    if (!d.is_float) continue;
    Pattern pattern(d, PLAIT_MIN, 4, 1);
    Ranks ranks{d, PLAIT_MIN, 4, 100};
    EXPECT_GT(pattern.wrong_results(0, 100, ranks.reduce(pattern, {0, 1, 3}).data()), 5u) << d.name;
  }
}

TEST(Pattern, CopiesDifferByRankIndexAndSeed) {
  const Dtype& d = *find_dtype("int8");
  std::vector<std::byte> data(64);
  Pattern pattern(d, std::nullopt, 8, 1);
  pattern.fill(3, 0, 64, data.data());
  for (int other = 0; other < 8; ++other) {
    EXPECT_EQ(pattern.wrong_copies(other, 0, 64, data.data()), other == 3 ? 0u : 64u);
  }
  EXPECT_GT(pattern.wrong_copies(3, 1, 64, data.data()), 50u);
  EXPECT_GT(Pattern(d, std::nullopt, 8, 2).wrong_copies(3, 0, 64, data.data()), 50u);
}

TEST(Pattern, IntegersWrapAndKeepTheirSign) {
  const Dtype& d = *find_dtype("int8");
  for (plait_op op : {PLAIT_SUM, PLAIT_PROD, PLAIT_MIN, PLAIT_MAX, PLAIT_AVG}) {
    Pattern pattern(d, op, 5, 3);
    std::vector<int8_t> one(1000), all(1000);
    std::vector<int> wide(1000);
    for (int r = 0; r < 5; ++r) {
      pattern.fill(r, 0, 1000, reinterpret_cast<std::byte*>(one.data()));
      for (size_t i = 0; i < 1000; ++i) {
        int8_t a = all[i], b = one[i];
        wide[i] += b;
        all[i] = r == 0             ? b
                 : op == PLAIT_PROD ? int8_t(a * b)
                 : op == PLAIT_MIN  ? std::min(a, b)
                 : op == PLAIT_MAX  ? std::max(a, b)
                                    : int8_t(a + b);
      }
    }
    for (size_t i = 0; i < 1000 && op == PLAIT_AVG; ++i) {
      EXPECT_EQ(wide[i], all[i]) << "the sum of an average must not wrap";
      all[i] = int8_t(all[i] / 5);
    }
    EXPECT_EQ(pattern.wrong_results(0, 1000, reinterpret_cast<std::byte*>(all.data())), 0u) << op;
  }
}

TEST(Pattern, CountsSingleElementsBeyondOnePeriod) {
  const Dtype& d = *find_dtype("float32");
  size_t count = 3 * kPeriod + 17;
  Pattern pattern(d, std::nullopt, 2, 9);
  std::vector<float> data(count);
  auto* bytes = reinterpret_cast<std::byte*>(data.data());
  pattern.fill(1, 5000, count, bytes);
  EXPECT_EQ(pattern.wrong_copies(1, 5000, count, bytes), 0u);
  for (size_t at : {size_t(0), size_t(4000), kPeriod, count - 1}) bytes[at * 4] ^= std::byte{1};
  EXPECT_EQ(pattern.wrong_copies(1, 5000, count, bytes), 4u);
  EXPECT_EQ(pattern.wrong_copies(1, 5000, 0, bytes), 0u);
}

}  // namespace
}  // namespace plait::perf
