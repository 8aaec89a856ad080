#include <gtest/gtest.h>

#include "perf/options.h"

namespace plait::perf {
namespace {

TEST(ParseSize, UnitsArePowersOf1024) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("8"), 8u);
  EXPECT_EQ(parse_size("64K"), 65536u);
  EXPECT_EQ(parse_size("64k"), 65536u);
  EXPECT_EQ(parse_size("64KiB"), 65536u);
  EXPECT_EQ(parse_size("1.5M"), 1572864u);
  EXPECT_EQ(parse_size("2G"), size_t(2) << 30);
  EXPECT_EQ(parse_size("1T"), size_t(1) << 40);
  EXPECT_EQ(parse_size("100B"), 100u);
}

TEST(ParseSize, RefusesWhatIsNoSize) {
  for (const char* bad : {"", "K", "-1", "+1", " 1", "8q", "1KK", "0.5", "1.3K", "inf", "nan", "0x10G",
                          "1e400", "99999999999999999999G", "8 K", "1iB"}) {
    EXPECT_FALSE(parse_size(bad)) << "'" << bad << "'";
  }
}

}  // namespace
}  // namespace plait::perf
