// The token bucket, with a clock of the test's; and autotuning, of costs that are made up.
#include <gtest/gtest.h>

#include <cmath>

#include "base/token_bucket.h"
#include "runtime/queue/tuner.h"

namespace plait::runtime::queue {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(QueueBucket, GivesItsBurstThenItsRate) {
  TokenBucket bucket(1000, 500, 0);
  int64_t now = 0;
  uint64_t taken = 0;
  while (now < 10 * kSecond) {
    const int64_t wait = bucket.wait_ns(now);
    now += wait;
    if (wait > 0) continue;
    bucket.take(100);
    taken += 100;
  }
  EXPECT_NEAR(double(taken), 500 + 10 * 1000, 200);
}

TEST(QueueBucket, LetsPassWhatIsLargerThanItsBurst) {
  TokenBucket bucket(1000, 10, 0);
  EXPECT_EQ(bucket.wait_ns(0), 0);
  bucket.take(2010);
  EXPECT_NEAR(double(bucket.wait_ns(0)), 2.0 * kSecond, 10);
  EXPECT_EQ(bucket.wait_ns(2 * kSecond + 10), 0);
}

TEST(QueueBucket, SavesNoMoreThanItsBurst) {
  TokenBucket bucket(1000, 100, 0);
  EXPECT_EQ(bucket.wait_ns(100 * kSecond), 0);
  bucket.take(101);
  EXPECT_GT(bucket.wait_ns(100 * kSecond), 0);
}

TEST(QueueBucket, IsSteadyWhereTheClockStepsBack) {
  TokenBucket bucket(1000, 0, 10 * kSecond);
  bucket.take(1000);
  EXPECT_GT(bucket.wait_ns(5 * kSecond), 0);
  EXPECT_EQ(bucket.wait_ns(11 * kSecond + 10), 0);
}

TEST(QueueBucket, WithoutARateHasNoLimit) {
  TokenBucket bucket(0, 0, 0);
  bucket.take(1 << 30);
  EXPECT_EQ(bucket.wait_ns(0), 0);
}

// A cost with a best size for each: too small pays by the operation, too large by the pipeline.
double rate_of(const Sizes& s, double best_fuse, double best_chunk) {
  const double fuse = std::log2(double(s.fuse) / best_fuse), chunk = std::log2(double(s.chunk) / best_chunk);
  return 1e9 / (1 + 0.2 * fuse * fuse + 0.1 * chunk * chunk);
}

TEST(QueueTuner, FindsTheBestOfASmoothCost) {
  for (const double best_fuse : {65'536.0, 524'288.0, 8'388'608.0}) {
    for (const double best_chunk : {262'144.0, 4'194'304.0, 16'777'216.0}) {
      Tuner tuner({1 << 16, 8 << 20, 1 << 18, 32 << 20}, {1 << 20, 2 << 20, 4 << 20});
      int trials = 0;
      while (!tuner.settled() && trials < 1000) {
        (void)tuner.measured(rate_of(tuner.sizes(), best_fuse, best_chunk));
        trials++;
      }
      ASSERT_TRUE(tuner.settled());
      EXPECT_EQ(double(tuner.sizes().fuse), best_fuse);
      EXPECT_EQ(double(tuner.sizes().chunk), best_chunk);
      EXPECT_GE(tuner.sizes().window, 2 * tuner.sizes().chunk);
      EXPECT_LE(trials, int(Tuner::kMostPoints * Tuner::kRepeats));
      EXPECT_NE(tuner.log().back().find("settled: fuse_bytes"), std::string::npos);
    }
  }
}

TEST(QueueTuner, StaysInItsBoundsAndWhereNothingIsBetter) {
  Tuner tuner({1 << 20, 1 << 20, 1 << 20, 4 << 20}, {1 << 20, 2 << 20, 4 << 20});
  while (!tuner.settled()) {
    EXPECT_EQ(tuner.sizes().fuse, size_t(1) << 20);
    EXPECT_LE(tuner.sizes().chunk, size_t(4) << 20);
    (void)tuner.measured(1e9);
  }
  EXPECT_EQ(tuner.sizes().chunk, size_t(2) << 20);
}

TEST(QueueTuner, EndsHoweverItIsMeasured) {
  Tuner tuner({1, uint64_t(1) << 60, 1, uint64_t(1) << 60}, {1 << 20, 1 << 20, 1 << 20});
  double rate = 1;
  int trials = 0;
  while (!tuner.settled() && trials < 1000) {
    (void)tuner.measured(rate *= 2);
    trials++;
  }
  EXPECT_TRUE(tuner.settled());
  EXPECT_FALSE(tuner.measured(1));
}

}  // namespace
}  // namespace plait::runtime::queue
