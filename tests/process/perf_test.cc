// plait-perf as its users meet it, under plait-run and alone: what it measures and writes.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "perf/dtype.h"
#include "process/perf.h"

namespace plait::test {
namespace {

TEST(PlaitPerf, PrintsTheColumnsOfNcclTests) {
  Outcome o = ranks(2, Words{"allreduce", "-b", "8", "-e", "8K", "-f", "32"} + kShort);
  ASSERT_EQ(o.status, 0) << o.err;
  auto table = rows(o.out);
  ASSERT_EQ(table.size(), 3u) << o.out;
  for (const Words& row : table) {
    ASSERT_EQ(row.size(), 13u) << o.out;
    EXPECT_EQ(row[8], "0");
    EXPECT_EQ(row[12], "0");
  }
  EXPECT_EQ(Words(table[1].begin(), table[1].begin() + 5), (Words{"256", "64", "float32", "sum", "-1"}));
  EXPECT_TRUE(contains(o.out, "# Out of bounds values : 0 OK\n"));
  EXPECT_TRUE(contains(o.out, "# Avg bus bandwidth    : "));
}

TEST(PlaitPerf, MeasuresEveryCollective) {
  for (const char* collective :
       {"allreduce", "reduce", "reduce_scatter", "reduce_scatterv", "allgather", "allgatherv", "broadcast",
        "gather", "gatherv", "scatter", "scatterv", "alltoall", "alltoallv", "barrier"}) {
    Outcome o = ranks(3, Words{collective, "-b", "4K", "-e", "4K", "-r", "2"} + kShort);
    EXPECT_EQ(o.status, 0) << collective << o.err;
    ASSERT_EQ(rows(o.out).size(), 1u) << o.out;
    EXPECT_EQ(rows(o.out)[0][8], "0") << o.out;
  }
}

TEST(PlaitPerf, MeasuresEveryRootAndPlans) {
  Outcome o =
      ranks(3, Words{"gatherv", "-b", "64", "-e", "64K", "-f", "1024", "-r", "all", "--plan"} + kShort);
  EXPECT_EQ(o.status, 0) << o.out << o.err;
  const auto table = rows(o.out);
  ASSERT_EQ(table.size(), 6u) << o.out;
  for (size_t i = 0; i < table.size(); i++) EXPECT_EQ(table[i][4], std::to_string(i % 3)) << o.out;
}

TEST(PlaitPerf, MeasuresEveryTypeAndOperation) {
  Outcome o = ranks(2, Words{"allreduce", "-b", "100", "-e", "100", "-d", "all", "-o", "all"} + kShort);
  EXPECT_EQ(o.status, 0) << o.out << o.err;
  std::set<std::pair<std::string, std::string>> measured;
  for (const Words& row : rows(o.out)) measured.insert({row.at(2), row.at(3)});
  EXPECT_EQ(rows(o.out).size(), measured.size()) << o.out;
  EXPECT_EQ(measured.size(), perf::all_dtypes().size() * perf::all_ops().size()) << o.out;
}

TEST(PlaitPerf, MeasuresEveryKindOfMemory) {
  for (Words memory : {Words{"-R", "0"}, Words{"-R", "1"}, Words{"-R", "2"}, Words{"--mixed-memory"}}) {
    Outcome o = ranks(2, Words{"allreduce", "-b", "1", "-e", "1M", "-f", "1000"} + memory + kShort);
    EXPECT_EQ(o.status, 0) << memory.back() << o.out << o.err;
  }
}

// 1000003 elements: neither ranks nor segments divide them.
TEST(PlaitPerf, IsRightWhereNothingDivides) {
  for (int n : {2, 3, 4}) {
    Outcome o =
        ranks(n, Words{"allreduce", "-b", "4000012", "-e", "4000012", "-c", "20", "-T", "30"} + kShort);
    EXPECT_EQ(o.status, 0) << n << " ranks\n" << o.out << o.err;
  }
}

TEST(PlaitPerf, RunsRanksAsThreadsOfProcesses) {
  Outcome o = ranks(2, Words{"allgather", "-t", "2", "-b", "1K", "-e", "1K"} + kShort);
  EXPECT_EQ(o.status, 0) << o.out << o.err;
  EXPECT_TRUE(contains(o.out, "# allgather of 4 ranks")) << o.out;
}

TEST(PlaitPerf, RunsAloneAndSaysSo) {
  Outcome o = alone(Words{"allreduce", "-e", "64"} + kShort);
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(contains(o.out, "1 rank in this process alone")) << o.out;
  EXPECT_TRUE(contains(o.out, "plait-run -n 4")) << o.out;
}

TEST(PlaitPerf, ChecksNothingWhenToldSo) {
  Outcome o = alone(Words{"allreduce", "-e", "8", "-c", "0"} + kShort);
  ASSERT_EQ(rows(o.out).size(), 1u);
  EXPECT_EQ(rows(o.out)[0][8], "N/A");
}

TEST(PlaitPerf, StepsThroughSizes) {
  auto sizes = [](const Words& words) {
    std::string text;
    for (const Words& row : rows(alone(Words{"allreduce"} + words + kShort).out)) text += row[0] + " ";
    return text;
  };
  EXPECT_EQ(sizes({"-b", "8", "-e", "32", "-f", "2"}), "8 16 32 ");
  EXPECT_EQ(sizes({"-b", "8", "-e", "32", "-i", "8"}), "8 16 24 32 ");
  EXPECT_EQ(sizes({"-b", "8", "-e", "100", "-f", "8"}), "8 64 100 ");
  EXPECT_EQ(sizes({"-b", "0", "-e", "4", "-f", "8"}), "0 4 4 ");
}

TEST(PlaitPerf, WritesJson) {
  Folder folder;
  Outcome o = ranks(2, Words{"reduce_scatter", "-b", "64", "-e", "64", "-d", "float16", "-o", "max", "--json",
                             folder.file()} +
                           kShort);
  ASSERT_EQ(o.status, 0) << o.err;
  std::ifstream file(folder.file());
  auto json = nlohmann::json::parse(file);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["in_place"], false);
  EXPECT_EQ(json[1]["in_place"], true);
  for (const auto& row : json) {
    EXPECT_EQ(row["collective"], "reduce_scatter");
    EXPECT_EQ(row["ranks"], 2);
    EXPECT_EQ(row["dtype"], "float16");
    EXPECT_EQ(row["op"], "max");
    EXPECT_EQ(row["bytes"], 64);
    EXPECT_EQ(row["count"], 16);
    EXPECT_EQ(row["iterations"], 2);
    EXPECT_EQ(row["wrong"], 0);
    EXPECT_GT(row["checked_us_max"].get<double>(), 0);
    EXPECT_EQ(row["algorithm"], "direct");
    EXPECT_TRUE(row["transport"].is_string());
    EXPECT_GT(row["time_us_median"].get<double>(), 0);
    EXPECT_GT(row["time_us_p99"].get<double>(), 0);
    double algorithm = 64 / row["time_us_median"].get<double>() / 1e3;
    EXPECT_NEAR(row["algbw_GBps"].get<double>(), algorithm, 1e-9);
    EXPECT_NEAR(row["busbw_GBps"].get<double>(), algorithm / 2, 1e-9);
  }
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

TEST(PlaitPerf, TellsHowCallsVary) {
  Outcome o = ranks(2, Words{"allgather", "-b", "64", "-e", "64", "-I"} + kShort);
  ASSERT_EQ(o.status, 0) << o.err;
  const auto table = rows(o.out);
  ASSERT_EQ(table.size(), 1u) << o.out;
  ASSERT_EQ(table[0].size(), 21u) << o.out;
  for (size_t at : {size_t{13}, size_t{17}}) {  // min, max, p99
    EXPECT_LE(std::stod(table[0][at]), std::stod(table[0][at + 2])) << o.out;
    EXPECT_LE(std::stod(table[0][at + 2]), std::stod(table[0][at + 1])) << o.out;
  }
  Outcome barrier = ranks(2, Words{"barrier", "-I"} + kShort);
  ASSERT_EQ(rows(barrier.out).size(), 1u) << barrier.out << barrier.err;
  EXPECT_EQ(rows(barrier.out)[0].size(), 13u) << barrier.out;
}

TEST(PlaitPerf, TakesTheTimeOfWhoWasAskedFor) {
  for (const auto& [whose, said] : std::map<std::string, std::string>{{"0", "of rank 0"},
                                                                      {"1", "mean of ranks"},
                                                                      {"2", "of the fastest rank"},
                                                                      {"3", "of the slowest rank"}}) {
    Outcome o = ranks(2, Words{"allreduce", "-b", "8", "-e", "8", "-a", whose} + kShort);
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_TRUE(contains(o.out, "time: " + said + "\n")) << o.out;
  }
}

TEST(PlaitPerf, DrawsWhatItMeasured) {
  Folder folder;
  Outcome o = ranks(2, Words{"allreduce", "-b", "8", "-e", "128K", "-f", "16", "-d", "float32,int8", "--plot",
                             folder.file()} +
                           kShort);
  ASSERT_EQ(o.status, 0) << o.err;
  std::ifstream file(folder.file());
  const std::string svg(std::istreambuf_iterator<char>(file), {});
  EXPECT_TRUE(contains(svg, "allreduce of 2 ranks over shm")) << svg;
  // Five sizes, two types, two placements, in two panels.
  EXPECT_EQ(count_of(svg, "<circle"), 40u) << svg;
  for (const char* curve :
       {"out of place, float32", "in place, float32", "out of place, int8", "in place, int8"})
    EXPECT_EQ(count_of(svg, ">" + std::string(curve) + "<"), 1u) << svg;
  for (const char* tick : {">8<", ">128K<", "time of a call (us)", "bus bandwidth (GB/s)", "</svg>"})
    EXPECT_TRUE(contains(svg, tick)) << tick << svg;
  EXPECT_FALSE(contains(svg, "nan") || contains(svg, "inf")) << svg;

  Outcome barrier = ranks(2, Words{"barrier", "--plot", folder.file()} + kShort);  // has no sizes
  EXPECT_EQ(barrier.status, 0) << barrier.err;
  Outcome nowhere = alone(Words{"allreduce", "-e", "8", "--plot", "/nonexistent/plot.svg"} + kShort);
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_TRUE(contains(nowhere.err, "cannot write /nonexistent/plot.svg")) << nowhere.err;
}

// Size, elements, algorithm, time, bandwidth, ratio, error of the whole, of the worst element; without it,
// times faster.
TEST(PlaitPerf, MeasuresCodecs) {
  struct Case {
    const char* codec;
    double most_ratio, most_error;
  };
  for (const Case& c :
       {Case{"int8", 0.27, 0.02}, Case{"cast:to=bf16", 0.51, 0.01}, Case{"lossless", 1.01, 1e-6},
        Case{"topk:ratio=0.01", 0.02, 1.1}, Case{"powersgd:rank=2", 0.02, 1.1}}) {
    const std::string codec = c.codec;
    const std::string always = codec + (contains(codec, ":") ? "," : ":") + "use=always";
    Outcome o = ranks(
        2, Words{"allreduce", "-b", "256K", "-e", "256K", "--codec", always, "--compare", "none"} + kShort);
    ASSERT_EQ(o.status, 0) << codec << o.err;
    const auto table = rows(o.out);
    ASSERT_EQ(table.size(), 1u) << o.out;
    ASSERT_EQ(table[0].size(), 10u) << o.out;
    const double ratio = std::stod(table[0][5]), error = std::stod(table[0][6]);
    EXPECT_TRUE(ratio > 0 && ratio < c.most_ratio) << o.out;
    EXPECT_TRUE(error >= 0 && error < c.most_error) << o.out;
    EXPECT_GT(std::stod(table[0][8]), 0) << o.out;
  }
}

TEST(PlaitPerf, SaysWhenTheJsonCannotBeWritten) {
  Outcome o = alone(Words{"allreduce", "-e", "8", "-J", "/nonexistent/rows.json"} + kShort);
  EXPECT_EQ(o.status, 1);
  EXPECT_TRUE(contains(o.err, "cannot write /nonexistent/rows.json")) << o.err;
}

TEST(PlaitPerf, ExplainsMistakes) {
  const std::pair<Words, std::string> mistakes[] = {
      {{}, "which collective"},
      {{"alltoallw"}, "'alltoallw' is no collective; there are: allreduce"},
      {{"gather", "-r", "any"}, "-r any: not a rank"},
      {{"gather", "-r", "-1"}, "-r -1: not a rank"},
      {{"allreduce", "-b", "8q"}, "not a size"},
      {{"allreduce", "-b", "8", "-e", "4"}, "less than -b"},
      {{"allreduce", "-f", "1"}, "more than 1"},
      {{"allreduce", "-i", "0"}, "-i 0"},
      {{"allreduce", "-i", "8", "-f", "2"}, "excludes"},
      {{"allreduce", "-b", "1", "-e", "1G", "-i", "1"}, "100000 sizes"},
      {{"allreduce", "-d", "float8"}, "'float8' is no type; there are: int8"},
      {{"allreduce", "-o", "xor"}, "'xor' is no operation; there are: sum"},
      {{"allreduce", "-R", "3"}, "--memory"},
      {{"allreduce", "-n", "0"}, "--iters"},
      {{"allreduce", "--regret", "-A", "ring"}, "excludes"},
      {{"allreduce", "--regret", "--explain"}, "excludes"},
      {{"allreduce", "--explain", "--plan"}, "--plan does not go with"},
      {{"allreduce", "-g", "1"}, "-g of nccl-tests is not taken: memory is that of processors"},
      {{"allreduce", "--bogus"}, "--bogus"}};
  for (const auto& [words, part] : mistakes) {
    Outcome o = alone(words);
    EXPECT_EQ(o.status, 2) << part;
    EXPECT_TRUE(contains(o.err, part)) << o.err;
    EXPECT_TRUE(contains(o.err, "Try: plait-perf --help")) << o.err;
  }
  EXPECT_TRUE(contains(alone({"broadcast", "-r", "1", "-e", "8"}).err, "there is no such rank"));
}

// Longer than a person waits without a word; elsewhere stderr stays empty.
TEST(PlaitPerf, TellsATerminalWhatItDoes) {
  if (run({{"sh", "-c", "command -v script"}, {}, {}, {}}).status != 0)
    GTEST_SKIP() << "there is no script(1)";
  const std::string call = required("PLAIT_PERF") + " allreduce -t 2 -b 8M -e 8M -n 1000000 -c 0";
  Process watched({{"script", "-qec", call, "/dev/null"}, {}, {"RANK", "WORLD_SIZE", "PLAIT_JOB"}, {}});
  EXPECT_TRUE(watched.wait_for_output("allreduce of 8388608 bytes, ", 60)) << watched.out();
  watched.signal(SIGTERM);
  watched.wait();
}

TEST(PlaitPerf, HelpFitsAScreen) {
  Outcome o = alone({"--help"});
  EXPECT_EQ(o.status, 0);
  EXPECT_LE(lines(o.out).size(), 30u);
  for (const std::string& line : lines(o.out)) EXPECT_LE(line.size(), 80u) << line;
}

TEST(PlaitPerf, ShowsWhereConfigurationComesFrom) {
  Outcome o = run({{required("PLAIT_PERF"), "--show-config"}, {{"PLAIT_TIMEOUT", "17"}}, {"PLAIT_LOG"}, {}});
  EXPECT_EQ(o.status, 0);
  bool timeout = false, log = false;
  for (const std::string& line : lines(o.out)) {
    timeout |= contains(line, "PLAIT_TIMEOUT") && contains(line, " 17 ") && contains(line, "environment");
    log |= contains(line, "PLAIT_LOG") && contains(line, "warn") && contains(line, "default");
  }
  EXPECT_TRUE(timeout && log) << o.out;
}

}  // namespace
}  // namespace plait::test
