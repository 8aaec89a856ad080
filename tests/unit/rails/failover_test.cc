// Random scripts while rails die, lose acknowledgements, are late or silent, and come back: nothing is ahead
// of its bytes, nothing lands twice or late. --seeds N tries so many of them, from --seed S on.
#include "unit/rails/hook_faults.h"
#include "unit/rails/script.h"

namespace plait::transport::rails {
namespace {

Seeds seeds;  // a count of 0: a few
#ifdef PLAIT_SANITIZED
constexpr uint64_t kFew = 6, kFewTcp = 3;
#else
constexpr uint64_t kFew = 60, kFewTcp = 20;
#endif

TEST(Failover, RandomScriptsOverFakes) {
  for (uint64_t seed = seeds.first; seed < seeds.first + (seeds.count != 0 ? seeds.count : kFew); ++seed) {
    HookFaults faults;
    const std::string wrong = Script(seed, 2 + seed % 2, over_fakes(seed), faults).run();
    ASSERT_EQ(wrong, "") << "seed " << seed;
  }
}

TEST(Failover, RandomScriptsOverTcp) {
  for (uint64_t seed = seeds.first; seed < seeds.first + (seeds.count != 0 ? seeds.count : kFewTcp); ++seed) {
    HookFaults faults;
    const std::string wrong = Script(seed, 2 + seed % 2, over_tcp(), faults).run();
    ASSERT_EQ(wrong, "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace plait::transport::rails

int main(int argc, char** argv) {
  return plait::transport::rails::run_tests(argc, argv, plait::transport::rails::seeds);
}
