// Whole calls of PowerSGD, over ranks that are simulated.
#include <gtest/gtest.h>

#include "matrices.h"

namespace plait::collectives::lowrank {
namespace {

Floats total(const std::vector<Floats>& all) {
  Floats sum(all[0].size());
  for (const Floats& one : all) {
    for (size_t i = 0; i < sum.size(); i++) sum[i] += one[i];
  }
  return sum;
}

std::vector<Floats> gradients(const Shape& s, size_t ranks, uint32_t seed) {
  std::vector<Floats> all;
  for (size_t r = 0; r < ranks; r++) all.push_back(numbers(s.elements(), seed + uint32_t(r)));
  return all;
}

// Rounding, times how well the columns of start() are conditioned within the space of m.
constexpr double kRounding = 1e-5;

TEST(Scheme, AMatrixOfTheRankComesBackInOneCall) {
  for (const size_t rank : {1u, 2u, 3u, 4u, 5u, 16u}) {
    for (const auto& [rows, columns] : {std::pair<size_t, size_t>{19, 67}, {300, 20}, {128, 256}}) {
      const Shape s{rows, columns, rank};
      const Floats m = of_rank(rows, columns, rank, 30);
      Ranks ranks(s, 1, 31);
      EXPECT_LT(length(difference(m, ranks.call({m}))), kRounding * length(m)) << text(s);
      EXPECT_LT(length(ranks.errors()[0]), kRounding * length(m)) << text(s);
    }
  }
}

TEST(Scheme, AMatrixOfLowerRankComesBackToo) {
  const Shape s{90, 70, 4};
  const Floats m = of_rank(s.rows, s.columns, 2, 32);
  Ranks ranks(s, 1, 33);
  for (int call = 0; call < 5; call++) {
    const Floats result = ranks.call({m});
    EXPECT_LT(length(difference(m, result)), 4e-6 * length(m)) << "call " << call;
  }
}

TEST(Scheme, ResultAndErrorsAreTheGradientsAndEarlierErrors) {
  for (const Shape& s : {Shape{1, 50, 1}, Shape{50, 1, 1}, Shape{33, 65, 3}, Shape{64, 128, 8}}) {
    for (const size_t count : {1u, 2u, 3u, 8u}) {
      Ranks ranks(s, count, 34);
      for (uint32_t call = 0; call < 4; call++) {
        const auto m = gradients(s, count, 35 + 100 * call);
        auto before = ranks.errors();
        before.insert(before.end(), m.begin(), m.end());
        auto after = std::vector<Floats>{ranks.call(m)};
        after.insert(after.end(), ranks.errors().begin(), ranks.errors().end());
        EXPECT_LT(length(difference(total(before), total(after))), 2e-6 * length(total(before)))
            << text(s) << ", " << count << " ranks, call " << call;
      }
    }
  }
}

// A constant gradient: with what was left out added later, the results come to what the gradients do.
TEST(Scheme, NothingIsLostOverCalls) {
  const Shape s{48, 80, 2};
  const auto m = gradients(s, 3, 40);
  const Floats sum = total(m);
  Ranks ranks(s, 3, 41);
  Floats all(s.elements());
  constexpr int kCalls = 400;
  for (int call = 0; call < kCalls; call++) {
    const Floats result = ranks.call(m);
    for (size_t i = 0; i < all.size(); i++) all[i] += result[i] / kCalls;
  }
  EXPECT_LT(length(difference(sum, all)), 0.1 * length(sum));
}

// Of rank 3, and noise. Without errors each call is a step of the power method: what is left comes down to
// the noise.
TEST(Scheme, AWarmStartConverges) {
  const Shape s{120, 90, 3};
  const Floats low = of_rank(s.rows, s.columns, 3, 42), noise = numbers(s.elements(), 44);
  Floats m = low;
  for (size_t i = 0; i < m.size(); i++) m[i] += 0.3F * noise[i];
  Ranks ranks(s, 1, 45);
  const auto left = [&] {
    const double lacks = length(difference(m, ranks.call({m})));
    ranks.forget_errors();
    return lacks;
  };
  const double first = left();
  for (int call = 0; call < 8; call++) left();
  const double last = left();
  EXPECT_LT(last, 0.9 * first);
  EXPECT_LT(last, 0.3 * length(noise));  // the best of rank 3 takes some of the noise, too
  EXPECT_NEAR(last, left(), 1e-3 * last);
}

// A parameter that had no gradient for a while is compressed as well as any other afterwards.
TEST(Scheme, ZeroGivesZeroAndIsNotForEver) {
  const Shape s{40, 60, 2};
  Ranks ranks(s, 2, 46);
  const Floats zero(s.elements());
  EXPECT_EQ(zero, ranks.call({zero, zero}));
  EXPECT_EQ(zero, ranks.errors()[1]);
  const Floats m = of_rank(s.rows, s.columns, 2, 47);
  EXPECT_LT(length(difference(m, ranks.call({m, zero}))), 2e-6 * length(m));
}

}  // namespace
}  // namespace plait::collectives::lowrank
