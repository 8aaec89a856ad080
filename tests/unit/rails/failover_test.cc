// Random scripts while rails die, lose acknowledgements, are late or silent, and come back: nothing is ahead
// of its bytes, nothing lands twice or late. --seeds N tries so many of them, from --seed S on.
#include <cstdlib>
#include <cstring>

#include "base/log.h"
#include "unit/rails/hook_faults.h"
#include "unit/rails/script.h"

namespace plait::transport::rails {
namespace {

uint64_t first_seed = 1, seeds = 0;  // 0: a few
#ifdef PLAIT_SANITIZED
constexpr uint64_t kFew = 6, kFewTcp = 3;
#else
constexpr uint64_t kFew = 60, kFewTcp = 20;
#endif

TEST(Failover, RandomScriptsOverFakes) {
  for (uint64_t seed = first_seed; seed < first_seed + (seeds != 0 ? seeds : kFew); ++seed) {
    HookFaults faults;
    const std::string wrong = Script(seed, 2 + seed % 2, over_fakes(seed), faults).run();
    ASSERT_EQ(wrong, "") << "seed " << seed;
  }
}

TEST(Failover, RandomScriptsOverTcp) {
  for (uint64_t seed = first_seed; seed < first_seed + (seeds != 0 ? seeds : kFewTcp); ++seed) {
    HookFaults faults;
    const std::string wrong = Script(seed, 2 + seed % 2, over_tcp(), faults).run();
    ASSERT_EQ(wrong, "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace plait::transport::rails

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seeds") == 0)
      plait::transport::rails::seeds = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--seed") == 0)
      plait::transport::rails::first_seed = std::strtoull(argv[i + 1], nullptr, 10);
  }
  if (std::getenv("PLAIT_LOG") == nullptr) plait::log::set_level(plait::log::Level::error);
  return RUN_ALL_TESTS();
}
