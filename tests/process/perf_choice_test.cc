// What plait-perf says of choices: between algorithms, those of files too, and between plait and other
// libraries.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "process/perf.h"

namespace plait::test {
namespace {

TEST(PlaitPerf, ExplainsTheChoice) {
  Outcome o = ranks(3, Words{"allgather", "-b", "48", "-e", "48", "-n", "2", "--explain"});
  ASSERT_EQ(o.status, 0) << o.err;
  std::map<std::string, int> chosen;  // by placement
  std::set<std::string> names;
  for (Words row : rows(o.out)) {
    EXPECT_EQ(row[0], "48");
    if (row[2] == "*") {
      chosen[row[1]]++;
      row.erase(row.begin() + 2);
    }
    names.insert(row[2]);
    EXPECT_TRUE(row[3] == "-" || std::stod(row[3]) > 0) << o.out;
    EXPECT_GT(std::stod(row.back()), 0) << o.out;
    EXPECT_EQ(row[row.size() - 2], "-") << "there is no tuning file";
  }
  EXPECT_EQ(chosen, (std::map<std::string, int>{{"no", 1}, {"yes", 1}}));
  EXPECT_TRUE(names.contains("ring") && names.contains("direct")) << o.out;
}

TEST(PlaitPerf, TellsTheRegret) {
  Folder folder;
  Outcome o = ranks(2, Words{"reduce", "-b", "8", "-e", "64", "-n", "2", "--regret", "-J", folder.file()});
  ASSERT_EQ(o.status, 0) << o.err;
  const auto table = rows(o.out);
  ASSERT_EQ(table.size(), 4u) << o.out;
  for (const Words& row : table) EXPECT_GT(std::stod(row.back()), 0) << o.out;
  EXPECT_TRUE(contains(o.out, "# regret: median ")) << o.out;
  std::ifstream file(folder.file());
  const auto json = nlohmann::json::parse(file);
  ASSERT_EQ(json.size(), 4u);
  EXPECT_EQ(json[3]["in_place"], true);
  for (const auto& row : json) {
    EXPECT_EQ(row["collective"], "reduce");
    EXPECT_DOUBLE_EQ(row["regret"].get<double>(),
                     row["chosen_us"].get<double>() / row["best_us"].get<double>());
    ASSERT_GT(row["candidates"].size(), 2u);
    for (const auto& one : row["candidates"]) {
      EXPECT_TRUE(one["tuned_us"].is_null());
      EXPECT_GE(one["measured_us"], row["best_us"]);
    }
  }
}

// What this plait-perf was built with, as it says itself.
std::vector<std::string> rivals() {
  const std::string err = alone({"allreduce", "--compare", "nosuch"}).err;
  std::vector<std::string> all;
  for (const char* one : {"mpi", "gloo"}) {
    if (contains(err, one)) all.push_back(one);
  }
  return all;
}

TEST(PlaitPerf, TakesTurnsWithARival) {
  if (rivals().empty()) GTEST_SKIP() << "built without MPI and Gloo";
  for (const std::string& rival : rivals()) {
    Folder folder;
    Outcome o = ranks(2, Words{"allreduce", "-b", "8", "-e", "8K", "-f", "1024", "--compare", rival, "--json",
                               folder.file()} +
                             kShort);
    ASSERT_EQ(o.status, 0) << o.out << o.err;
    const auto table = rows(o.out);
    ASSERT_EQ(table.size(), 2u) << o.out;
    for (const Words& row : table) ASSERT_EQ(row.size(), 17u) << o.out;
    EXPECT_TRUE(contains(o.out, "# " + rival + "'s time by plait's")) << o.out;
    std::ifstream file(folder.file());
    const auto json = nlohmann::json::parse(file);
    ASSERT_EQ(json.size(), 4u);
    for (const auto& row : json) {
      EXPECT_EQ(row["rival"], rival);
      EXPECT_GT(row["rival_us_median"], 0.0) << row;
      const double ratio = double(row["rival_us_median"]) / double(row["time_us_median"]);
      EXPECT_NEAR(double(row["ratio"]), ratio, 1e-6 * ratio) << row;
    }
  }
}

TEST(PlaitPerf, ComparesEveryCollectiveThatTheRivalHas) {
  for (const std::string& rival : rivals()) {
    for (const char* collective :
         {"reduce", "reduce_scatter", "allgather", "broadcast", "gather", "scatter", "alltoall", "barrier"}) {
      Outcome o = ranks(3, Words{collective, "-b", "4K", "-e", "4K", "-r", "1", "--compare", rival} + kShort);
      EXPECT_EQ(o.status, 0) << o.out << o.err;
      ASSERT_EQ(rows(o.out).size(), 1u) << o.out;
      const bool lacks = rival == "gloo" && std::string_view(collective) == "reduce_scatter";
      EXPECT_EQ(rows(o.out)[0][9] == "-", lacks) << o.out;
    }
  }
}

TEST(PlaitPerf, ComparesWhatCanBeCompared) {
  if (rivals().empty()) GTEST_SKIP() << "built without MPI and Gloo";
  const std::string rival = rivals().front();
  for (const Words& more : {Words{"-d", "int8"}, Words{"-o", "max"}, Words{"--explain"}, Words{"-a", "0"}}) {
    Outcome o = alone(Words{"allreduce", "--compare", rival} + more);
    EXPECT_EQ(o.status, 2) << o.out;
    EXPECT_TRUE(contains(o.err, "--compare " + rival + ":")) << o.err;
  }
  EXPECT_EQ(alone(Words{"allgatherv", "--compare", rival}).status, 2);
}

TEST(PlaitPerf, FailsOnAnUnknownAlgorithm) {
  Outcome o = alone(Words{"allreduce", "-e", "8", "-A", "no_such_algorithm"} + kShort);
  EXPECT_EQ(o.status, 1);
  EXPECT_TRUE(contains(o.err, "no_such_algorithm")) << o.err;
}

// A program of a file, by the name that it has there; and ranks that were not given the same.
TEST(PlaitPerf, RunsImportedPrograms) {
  const Folder folder;
  const Outcome made = run({{required("PLAIT_PROGRAM"), "export", "ring", "allreduce", "-n", "3", "--name",
                             "mine", "-o", folder.file()},
                            {},
                            {},
                            {}});
  ASSERT_EQ(made.status, 0) << made.err;
  const Words words = Words{required("PLAIT_RUN"), "--no-prefix", "-n", "3"};
  const Words perf =
      Words{required("PLAIT_PERF"), "allreduce", "-A", "mine", "-b", "8", "-e", "64K", "-f", "128"};
  const Outcome o = run({words + perf + kShort, {{"PLAIT_PROGRAMS", folder.file()}}, {}, {}}, 120);
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(contains(o.out, "algorithm: mine")) << o.out;
  const auto table = rows(o.out);
  ASSERT_EQ(table.size(), 3u) << o.out;
  for (const Words& row : table) EXPECT_EQ(row[8] + row[12], "00") << o.out;

  const std::string apart =
      "[ $RANK = 1 ] && unset PLAIT_PROGRAMS; exec " + required("PLAIT_PERF") + " allreduce -A mine";
  const Outcome refused =
      run({words + Words{"sh", "-c", apart}, {{"PLAIT_PROGRAMS", folder.file()}}, {}, {}}, 120);
  EXPECT_NE(refused.status, 0);
  EXPECT_TRUE(contains(refused.err, ") lacks " + folder.file() + " of rank 0 (")) << refused.err;
}

}  // namespace
}  // namespace plait::test
