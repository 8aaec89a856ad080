// Links that fail in the middle of a collective, over rails of TCP. Over verbs: rail_loss_verbs_test.cc.
#include "runtime/rail_loss.h"

#include "support/ranks.h"
#include "transport/hooks/fault.h"
#include "transport/tcp/tcp.h"

namespace plait::test {
namespace {

std::string name_of(size_t rail) { return "tcp:lo" + std::to_string(rail); }

Losses over_tcp() {
  Losses losses{.ranks = 4, .count = size_t{1} << 20, .rounds = 6, .make = {}};
  losses.make = [](int, size_t rail) {
    transport::tcp::Options options;
    options.addresses = {parse_ip("127.0.0." + std::to_string(rail + 1)).value()};
    options.label = name_of(rail);
    auto hook = std::make_unique<transport::hooks::FaultDomain>(
        std::move(transport::tcp::make_domain(options).value()), transport::hooks::FaultPlan{});
    auto* links = hook.get();
    return Rail{std::move(hook), [links](transport::Endpoint&) { links->kill_links(); }};
  };
  return losses;
}

class RailLoss : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(plait_init(nullptr), PLAIT_OK); }
  void TearDown() override { plait_finalize(); }
};

TEST_F(RailLoss, TwoRailsGoOn) { lose_rails(over_tcp(), seed_of_test()); }

TEST_F(RailLoss, OneRailIsNamed) {
  lose_the_rail(over_tcp(), seed_of_test(), [](int) { return name_of(0); });
}

}  // namespace
}  // namespace plait::test
