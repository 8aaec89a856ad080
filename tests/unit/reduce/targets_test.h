// Runs a test once for each instruction set that was compiled and this CPU has.
#pragma once

#include "base/simd_targets.h"
//
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <string>

namespace plait::collectives {

class EachTarget : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { choose(GetParam()); }
  void TearDown() override { choose(0); }

 private:
  // 0: what the CPU has.
  static void choose(int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

inline std::string target_name(const testing::TestParamInfo<int64_t>& info) {
  return hwy::TargetName(info.param);
}

#define PLAIT_EACH_TARGET(Suite) \
  INSTANTIATE_TEST_SUITE_P(Cpu, Suite, testing::ValuesIn(hwy::SupportedAndGeneratedTargets()), target_name)

}  // namespace plait::collectives
