// plait-tune as its users meet it: what it writes is what communicators choose by.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "support/command.h"

namespace plait::test {
namespace {

using Words = std::vector<std::string>;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class PlaitTune : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { run({{"rm", "-r", folder_}, {}, {}, {}}); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  nlohmann::json read(const std::string& name) const {
    std::ifstream file(path(name));
    return nlohmann::json::parse(file);
  }
  // A tuning of one case: an allreduce of 8 and 64 bytes among 2 ranks.
  std::string write(const std::string& name, const std::string& cpu, double ring, double direct) const {
    const nlohmann::json us = {{"ring", ring}, {"direct", direct}};
    nlohmann::json one = {
        {"collective", "allreduce"}, {"ranks", 2}, {"hosts", 1}, {"in_place", false}, {"times", {}}};
    for (int bytes : {8, 64}) one["times"].push_back({{"bytes", bytes}, {"us", us}});
    const nlohmann::json machine = {{"cpu", cpu}, {"date", "2026-01-02"}, {"cores", 2}, {"hosts", 1}};
    std::ofstream(path(name)) << nlohmann::json{
        {"plait_tuning", 1}, {"machine", machine}, {"cases", nlohmann::json::array({one})}};
    return path(name);
  }

  static Outcome tune(Words words) {
    words.insert(words.begin(), required("PLAIT_TUNE"));
    return run({words, {}, {"RANK", "WORLD_SIZE", "PLAIT_JOB"}, {}});
  }
  static Outcome launch(int ranks, const std::string& tool, const Words& words,
                        const std::string& tuning = {}) {
    Words all = {required("PLAIT_RUN"), "--no-prefix", "-n", std::to_string(ranks), required(tool.c_str())};
    all.insert(all.end(), words.begin(), words.end());
    Command command{all, {}, {}, {}};
    if (!tuning.empty()) command.set = {{"PLAIT_TUNING", tuning}};
    return run(command, 120);
  }

  std::string folder_ = testing::TempDir() + "plait-tune.XXXXXX";
};

TEST_F(PlaitTune, WritesWhatCommunicatorsChooseBy) {
  const Outcome o = launch(2, "PLAIT_TUNE",
                           {"allreduce", "broadcast", "barrier", "-b", "8", "-e", "64", "-f", "8", "-n", "1",
                            "-o", path("t.json")});
  ASSERT_EQ(o.status, 0) << o.out << o.err;
  EXPECT_TRUE(contains(o.out, "wrote " + path("t.json") + "; cases: 4")) << o.out;
  auto json = read("t.json");
  ASSERT_EQ(json["cases"].size(), 4u);  // a broadcast has a root, and no data is never in place
  for (auto& one : json["cases"]) {
    EXPECT_EQ(one["ranks"], 2);
    EXPECT_EQ(one["hosts"], 1);
    EXPECT_EQ(one["times"].size(), one["collective"] == "barrier" ? 1u : 2u);
    for (auto& row : one["times"]) {
      EXPECT_GE(row["us"].size(), 2u);
      if (one["collective"] == "allreduce") row["us"]["binomial"] = 0.001;
    }
  }
  std::ofstream(path("mine.json")) << json;
  const Outcome by =
      launch(2, "PLAIT_PERF", {"allreduce", "-b", "8", "-e", "8", "-n", "1", "--explain"}, path("mine.json"));
  EXPECT_EQ(by.status, 0) << by.err;
  EXPECT_TRUE(contains(by.out, "no * binomial")) << by.out;
  EXPECT_TRUE(contains(by.out, "0.001")) << by.out;
}

TEST_F(PlaitTune, MergesOtherCases) {
  const Words short_one = {"barrier", "-n", "1", "--merge", "-o", path("t.json")};
  EXPECT_EQ(launch(2, "PLAIT_TUNE", short_one).status, 0);
  const Outcome o = launch(3, "PLAIT_TUNE", short_one);
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(read("t.json")["cases"].size(), 2u);
  write("t.json", "Abacus", 1, 2);
  const Outcome other = launch(2, "PLAIT_TUNE", short_one);
  EXPECT_EQ(other.status, 1);
  EXPECT_TRUE(contains(other.err, "was measured on another machine: Abacus with 2 cores, not")) << other.err;
  EXPECT_EQ(read("t.json")["machine"]["cpu"], "Abacus");
}

TEST_F(PlaitTune, CombinesLaunchesByMedians) {
  const std::string a = write("a", "x", 1, 5), b = write("b", "x", 30, 6), c = write("c", "x", 2, 7);
  Outcome o = tune({"--combine", a, b, c, "-o", path("three")});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(contains(o.out, "three of 3 files; cases: 1")) << o.out;
  const auto us = read("three")["cases"][0]["times"][1]["us"];
  EXPECT_NEAR(us["ring"].get<double>(), 2, 1e-9);
  EXPECT_NEAR(us["direct"].get<double>(), 6, 1e-9);
  EXPECT_EQ(tune({"--combine", a, b, "-o", path("two")}).status, 0);
  EXPECT_NEAR(read("two")["cases"][0]["times"][0]["us"]["ring"].get<double>(), 15.5, 1e-9);
  o = tune({"--combine", a, write("d", "y", 1, 1), "-o", path("none")});
  EXPECT_EQ(o.status, 1);
  EXPECT_TRUE(contains(o.err, path("d") + ": measured on another machine: y with 2 cores, not x")) << o.err;
  std::ofstream(path("e")) << "{";
  o = tune({"--combine", a, path("e"), "-o", path("none")});
  EXPECT_EQ(o.status, 1);
  EXPECT_TRUE(contains(o.err, path("e") + ": tuning: line 1")) << o.err;
  EXPECT_NE(::access(path("none").c_str(), F_OK), 0);
}

TEST_F(PlaitTune, RefusesBeforeItMeasures) {
  Outcome o = tune({"-o", path("t.json")});
  EXPECT_EQ(o.status, 1);
  EXPECT_TRUE(contains(o.err, "one rank has nothing to choose")) << o.err;
  o = launch(2, "PLAIT_TUNE", {"-o", "/nowhere/t.json"});
  EXPECT_EQ(o.status, 1);
  EXPECT_TRUE(contains(o.err, "cannot write /nowhere/t.json")) << o.err;
  EXPECT_EQ(o.out, "");
}

TEST_F(PlaitTune, ExplainsMistakes) {
  const std::pair<Words, std::string> mistakes[] = {
      {{}, "-o FILE is missing"},
      {{"alltoallw", "-o", "x"}, "'alltoallw' is no collective to tune"},
      {{"gatherv", "-o", "x"}, "'gatherv' is no collective to tune"},
      {{"barrier", "barrier", "-o", "x"}, "named twice"},
      {{"-o", "x", "-b", "0"}, "-b 0"},
      {{"-o", "x", "-e", "4"}, "less than -b"},
      {{"-o", "x", "-e", "8q"}, "not a size"},
      {{"-o", "x", "-f", "1"}, "-f must be"},
      {{"-o", "x", "-n", "0"}, "--rounds"},
      {{"-o", "x", "--combine"}, "needs the files"},
      {{"-o", "x", "--combine", "a", "--merge"}, "--merge is for measuring"}};
  for (const auto& [words, part] : mistakes) {
    const Outcome o = tune(words);
    EXPECT_EQ(o.status, 2) << part;
    EXPECT_TRUE(contains(o.err, part)) << o.err;
  }
  const Outcome help = tune({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_LE(lines(help.out).size(), 30u);
  for (const std::string& line : lines(help.out)) EXPECT_LE(line.size(), 80u) << line;
}

}  // namespace
}  // namespace plait::test
