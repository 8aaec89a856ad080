// The example of the README does what the README says.
#include <gtest/gtest.h>

#include "support/command.h"

namespace plait::test {
namespace {

TEST(Example, SumsOverFourProcesses) {
  Outcome o = run({{required("PLAIT_RUN"), "-n", "4", required("PLAIT_EXAMPLE")}, {}, {}, {}});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.out, "[0] sum over 4: each element is 10\n");
}

TEST(Example, RunsAlone) {
  Outcome o = run({{required("PLAIT_EXAMPLE")}, {}, {"RANK", "WORLD_SIZE", "PLAIT_JOB"}, {}});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.out, "sum over 1: each element is 1\n");
}

}  // namespace
}  // namespace plait::test
