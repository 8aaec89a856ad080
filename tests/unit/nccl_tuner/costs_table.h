// NCCL's table of costs, a file of parameters, and the environment that both tests and plugin look at.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "nccl-tuner/abi.h"
#include "nccl-tuner/network.h"

namespace plait::nccl::tuner {

struct CostsTable {
  float time[tuner_algorithms][tuner_protocols];

  explicit CostsTable(float all = not_offered) {
    for (auto& row : time)
      for (float& t : row) t = all;
  }
  float& at(TunerAlgorithm a, Protocol p) { return time[int(a)][int(p)]; }
  float** raw() { return reinterpret_cast<float**>(time); }
  // As NCCL chooses: the first of the least.
  std::pair<TunerAlgorithm, Protocol> best() const {
    int row = 0, column = 0;
    float least = -1;
    for (int a = 0; a < tuner_algorithms; a++)
      for (int p = 0; p < tuner_protocols; p++)
        if (time[a][p] >= 0 && (least < 0 || time[a][p] < least)) least = time[a][p], row = a, column = p;
    return {TunerAlgorithm(row), Protocol(column)};
  }
};

// What ring and tree of an allreduce may be, and nothing else.
inline CostsTable ring_and_tree() {
  CostsTable table;
  for (auto a : {TunerAlgorithm::ring, TunerAlgorithm::tree})
    for (int p = 0; p < tuner_protocols; p++) table.time[int(a)][p] = 1;
  return table;
}

inline void expect_says(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), text.npos) << text;
}

// The variables of the plugin as a test wants them.
class Variables : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override {
    clear();
    if (!file_.empty()) std::remove(file_.c_str());
  }
  void use_parameters(const std::string& json) {
    file_ = testing::TempDir() + "plait-tuner-" + std::to_string(getpid()) + ".json";
    std::ofstream(file_) << json;
    setenv(kParametersVariable, file_.c_str(), 1);
  }
  const std::string& file() const { return file_; }

 private:
  static void clear() {
    for (const char* name : {kParametersVariable, "PLAIT_NETWORK", "PLAIT_LINK_MBPS"}) unsetenv(name);
  }
  std::string file_;
};

}  // namespace plait::nccl::tuner
