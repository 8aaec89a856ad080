// Every algorithm of the table, proved for many numbers of ranks and roots, in place and out of place.
#include <algorithm>
#include <set>

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
      EXPECT_EQ(programs[0].min_credits, n > 1 ? algorithm.min_credits[in_place] : 0);
      EXPECT_LE(proof.min_credits, programs[0].min_credits);
      EXPECT_EQ(programs[0].rank_order, algorithm.rank_order || n == 1);
      EXPECT_TRUE(proof.rank_order || !algorithm.rank_order);
      EXPECT_TRUE(proof.deterministic || !algorithm.deterministic);
      credits_[in_place] = std::max(credits_[in_place], proof.min_credits);
      rank_order_ = rank_order_ && proof.rank_order;
      deterministic_ = deterministic_ && proof.deterministic;
      steps_ += proof.steps;
    }
  }
  // The first, the last, and some in between.
  void check_roots(int n) {
    std::set<int> roots{0};
    if (rooted(GetParam().collective)) roots = {0, 1 % n, n / 2, n - 1};
    for (int root : roots) check(n, root);
  }
  // That the table claims no less than what all proofs have found.
  void compare_with_table() const {
    const Algorithm& algorithm = GetParam();
    EXPECT_EQ(credits_[0], algorithm.min_credits[0]);
    EXPECT_EQ(credits_[1], algorithm.min_credits[1]);
    EXPECT_EQ(rank_order_, algorithm.rank_order);
    EXPECT_EQ(reduces(algorithm.collective) && deterministic_, algorithm.deterministic);
  }
  void TearDown() override {
    RecordProperty("steps", std::to_string(steps_));
    RecordProperty("ms", std::to_string((now_ns() - start_) / 1'000'000));
  }

 private:
  uint8_t credits_[2] = {0, 0};
  bool rank_order_ = true, deterministic_ = true;
  uint64_t steps_ = 0;
  int64_t start_ = now_ns();
};

TEST_P(Sweep, OneTo64Ranks) {
  for (int n = 1; n <= 64; n++) check_roots(n);
  compare_with_table();
}
TEST_P(Sweep, EveryRootOfUpTo13Ranks) {
  for (int n = 1; n <= 13; n++) {
    const int roots = rooted(GetParam().collective) ? n : 1;
    for (int root = 0; root < roots; root++) check(n, root);
  }
}
TEST_P(Sweep, NearAPowerOfTwo) {
  check_roots(127);
  check_roots(128);
}
TEST_P(Sweep, ThousandRanks) { check_roots(1000); }

std::string name_of_test(const testing::TestParamInfo<Algorithm>& test) {
  return std::string(test.param.name) + "_" + std::string(name_of(test.param.collective));
}
INSTANTIATE_TEST_SUITE_P(Algorithms, Sweep, testing::ValuesIn(algorithms().begin(), algorithms().end()),
                         name_of_test);

}  // namespace
}  // namespace plait::collectives
