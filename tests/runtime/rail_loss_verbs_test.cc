// Queue pairs that fail in the middle of a collective, over pairs of soft-RoCE devices
// (tests/lab/vm/roce.sh), in the virtual machine. Even ranks have the device of one end of a rail, odd ranks
// that of the other.
#include "runtime/rail_loss.h"

#include "support/ranks.h"
#include "transport/verbs/verbs.h"
#include "unit/rails/link_faults.h"

namespace plait::test {
namespace {

std::string name_of(int rank, size_t rail) { return "verbs:" + transport::rails::device_of(rank % 2, rail); }

// `retries`: 7: for ever. Else the other end finds out when nothing answers.
Losses over_verbs(uint8_t retries) {
  Losses losses{.ranks = 3, .count = size_t{1} << 19, .rounds = 4, .make = {}};
  losses.make = [retries](int rank, size_t rail) {
    transport::verbs::Options options;
    options.device = transport::rails::device_of(rank % 2, rail);
    options.timeout = 14;
    options.retries = retries;
    return Rail{std::move(transport::verbs::make_domain(options).value()), transport::verbs::force_error};
  };
  return losses;
}

class VerbsRailLoss : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = transport::rails::why_no_rails(2); !why.empty()) GTEST_SKIP() << why;
    ASSERT_EQ(plait_init(nullptr), PLAIT_OK);
  }
  void TearDown() override { plait_finalize(); }
};

TEST_F(VerbsRailLoss, TwoRailsGoOn) { lose_rails(over_verbs(7), seed_of_test()); }

TEST_F(VerbsRailLoss, OneRailIsNamed) {
  lose_the_rail(over_verbs(5), seed_of_test(), [](int rank) { return name_of(rank, 0); });
}

}  // namespace
}  // namespace plait::test
