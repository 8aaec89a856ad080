// Every algorithm of the table, proved for many numbers of ranks, in place and out of place.
#include <cctype>

#include "base/clock.h"
#include "unit/collectives/programs.h"

namespace plait::collectives {
namespace {

class Sweep : public testing::TestWithParam<Algorithm> {
 protected:
  // Proves the programs of n ranks and compares with what the table says.
  void check(int n, int root = 0) {
    const Algorithm& algorithm = GetParam();
    if (!algorithm.accepts(n)) return;
    for (bool in_place : {false, true}) {
      SCOPED_TRACE(testing::Message() << n << " ranks, root " << root << (in_place ? ", in place" : ""));
      auto programs = programs_of(algorithm, n, in_place, root);
      Proof proof = prove({algorithm.collective, root}, programs);
      ASSERT_TRUE(proof.status.ok()) << proof.status.text();
      EXPECT_EQ(proof.min_credits, n > 1 ? algorithm.min_credits[in_place] : 0);
      EXPECT_EQ(proof.min_credits, programs[0].min_credits);
      EXPECT_EQ(proof.rank_order, algorithm.rank_order || n == 1);
      EXPECT_EQ(proof.rank_order, programs[0].rank_order);
      steps_ += proof.steps;
    }
  }
  void TearDown() override {
    RecordProperty("steps", std::to_string(steps_));
    RecordProperty("ms", std::to_string((now_ns() - start_) / 1'000'000));
  }

 private:
  uint64_t steps_ = 0;
  int64_t start_ = now_ns();
};

TEST_P(Sweep, OneTo64Ranks) {
  for (int n = 1; n <= 64; n++) check(n);
}
TEST_P(Sweep, NearAPowerOfTwo) {
  check(127);
  check(128);
}
TEST_P(Sweep, ThousandRanks) { check(1000); }

std::string name_of_test(const testing::TestParamInfo<Algorithm>& test) {
  return std::string(test.param.name) + "_" + std::string(name_of(test.param.collective));
}
INSTANTIATE_TEST_SUITE_P(Algorithms, Sweep, testing::ValuesIn(algorithms().begin(), algorithms().end()),
                         name_of_test);

class EveryRoot : public Sweep {};
TEST_P(EveryRoot, OfUpTo13Ranks) {
  for (int n = 1; n <= 13; n++) {
    for (int root = 0; root < n; root++) check(n, root);
  }
}
INSTANTIATE_TEST_SUITE_P(Algorithms, EveryRoot, testing::Values(algorithm(Collective::broadcast, "star")),
                         name_of_test);

}  // namespace
}  // namespace plait::collectives
