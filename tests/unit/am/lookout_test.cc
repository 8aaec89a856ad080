#include "transport/am/lookout.h"

#include <gtest/gtest.h>

namespace plait::transport::am {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// A pause is so short that it may be over before it was asked for, so it is looked for many times.
bool pauses(Lookout& lookout, bool found = false) {
  for (int i = 0; i < 1000; ++i) {
    lookout.looked(found);
    if (!lookout.due()) return true;
  }
  return false;
}

bool ends(const Lookout& lookout) {
  for (const int64_t end = now_ns() + 10'000'000'000; !lookout.due();) {
    if (now_ns() > end) return false;
  }
  return true;
}

TEST(Lookout, LooksAllTheTimeWhereWhatComesIsSmall) {
  Lookout lookout;
  EXPECT_TRUE(lookout.due());
  EXPECT_FALSE(pauses(lookout));
  lookout.saw(64);
  EXPECT_FALSE(pauses(lookout));
}

TEST(Lookout, PausesAfterALookInVainWhileWhatComesIsLarge) {
  Lookout lookout;
  lookout.saw(kMiB);
  EXPECT_TRUE(lookout.due());
  EXPECT_FALSE(pauses(lookout, true)) << "something came";
  EXPECT_TRUE(pauses(lookout));
  EXPECT_TRUE(ends(lookout));
  lookout.saw(64);
  EXPECT_FALSE(pauses(lookout));
}

TEST(Lookout, AwaitsTheAnswerToSomethingLarge) {
  Lookout lookout;
  lookout.saw(kMiB);
  lookout.sent(64);
  EXPECT_TRUE(pauses(lookout));
  lookout.sent(kMiB);
  EXPECT_TRUE(lookout.due());
  EXPECT_FALSE(pauses(lookout));
}

TEST(Lookout, NoMessageIsTooLargeForAPauseToEnd) {
  Lookout lookout;
  lookout.saw(SIZE_MAX);
  EXPECT_TRUE(pauses(lookout));
  EXPECT_TRUE(ends(lookout));
}

}  // namespace
}  // namespace plait::transport::am
