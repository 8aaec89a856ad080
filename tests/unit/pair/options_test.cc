// What the command lines of plait_write_bw and its like mean.
#include <gtest/gtest.h>

#include <set>

#include "perf/pair/options.h"
#include "perf/pair/refused.h"

namespace plait::perf::pair {
namespace {

constexpr Tool kWriteBw{Operation::write, Measure::bandwidth};
constexpr Tool kSendLat{Operation::send, Measure::latency};
constexpr Tool kTools[] = {kWriteBw,
                           {Operation::write, Measure::latency},
                           {Operation::read, Measure::bandwidth},
                           {Operation::read, Measure::latency},
                           {Operation::send, Measure::bandwidth},
                           kSendLat};

Parsed parsed(Tool tool, std::vector<const char*> words) {
  words.insert(words.begin(), "tool");
  testing::internal::CaptureStderr();
  Parsed p = parse(tool, int(words.size()), words.data());
  testing::internal::GetCapturedStderr();
  return p;
}

std::string complaint(Tool tool, std::vector<const char*> words) {
  words.insert(words.begin(), "tool");
  testing::internal::CaptureStderr();
  const Parsed p = parse(tool, int(words.size()), words.data());
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(p.exit_status, 2) << said;
  return said;
}

TEST(PairOptions, DefaultsAreThoseOfPerftest) {
  const Options bw = parsed(kWriteBw, {}).options;
  EXPECT_TRUE(bw.is_server());
  EXPECT_EQ(bw.port, 18515);
  EXPECT_EQ(bw.sizes, std::vector<size_t>{65536});
  EXPECT_EQ(bw.iterations, 5000u);
  EXPECT_EQ(bw.depth, 128u);
  EXPECT_EQ(parsed({Operation::send, Measure::bandwidth}, {}).options.iterations, 1000u);
  const Options lat = parsed(kSendLat, {"host"}).options;
  EXPECT_EQ(lat.server, "host");
  EXPECT_EQ(lat.sizes, std::vector<size_t>{2});
  EXPECT_EQ(lat.iterations, 1000u);
}

TEST(PairOptions, AllSizes) {
  const Options o = parsed(kWriteBw, {"-a"}).options;
  EXPECT_EQ(o.sizes.size(), 23u);
  EXPECT_EQ(o.sizes.front(), 2u);
  EXPECT_EQ(o.sizes.back(), size_t{1} << 23);
}

TEST(PairOptions, SizesMayHaveAUnit) {
  EXPECT_EQ(parsed(kWriteBw, {"-s", "64K"}).options.sizes, std::vector<size_t>{65536});
  EXPECT_EQ(parsed(kWriteBw, {"-s", "1G"}).options.sizes, std::vector<size_t>{kMostBytes});
}

TEST(PairOptions, VerbsOptionsAreCollected) {
  const Options o = parsed(kWriteBw, {"-x", "3", "-R", "-I", "64", "-i", "2", "-F"}).options;
  EXPECT_EQ(o.verbs.text, "gid_index=3+connect=cm+inline=64");
  EXPECT_EQ(o.verbs.flags, "-x, -R, -I, -i");
  EXPECT_EQ(o.verbs.ib_port, 2u);
}

TEST(PairOptions, TrafficClassesAndTheirLikeAreOfVerbs) {
  EXPECT_EQ(parsed(kWriteBw, {"-T", "106", "--retry_count", "7"}).options.verbs.text,
            "traffic_class=106+retries=7");
  const Options o = parsed(kSendLat, {"--tclass", "8", "--odp", "--disable_pcie_relaxed"}).options;
  EXPECT_EQ(o.verbs.text, "traffic_class=8+on_demand_paging=1+relaxed_ordering=0");
  EXPECT_EQ(o.verbs.flags, "--tclass, --odp, --disable_pcie_relaxed");
}

TEST(PairOptions, OfOneToolOrAnother) {
  const Options bw =
      parsed(kWriteBw, {"-N", "-Q", "16", "--reversed", "-w", "2.5", "-y", "1", "--perform_warm_up"}).options;
  EXPECT_TRUE(bw.no_peak && bw.reversed && bw.warm_up);
  EXPECT_EQ(bw.news_every, 16u);
  EXPECT_EQ(bw.least_bandwidth, 2.5);
  EXPECT_EQ(bw.least_mpps, 1);
  const Options lat = parsed(kSendLat, {"-r", "5", "--latency_gap=7", "--output", "latency"}).options;
  EXPECT_EQ(lat.rx_depth, 5u);
  EXPECT_EQ(lat.gap_us, 7u);
  EXPECT_EQ(lat.output, Output::latency);
}

TEST(PairOptions, WhatPerftestTakesAndNobodyHereIsRefusedWithTheReason) {
  std::set<std::string> seen;
  for (const Tool tool : kTools)
    for (const tools::Refused& r : refused_by(tool)) {
      std::string names = std::string(r.names) + ",";
      for (size_t end; (end = names.find(',')) != names.npos; names.erase(0, end + 1)) {
        const std::string name = names.substr(0, end);
        std::vector<const char*> words = {name.c_str()};
        if (r.takes_value) words.push_back("1");
        const std::string said = complaint(tool, words);
        EXPECT_NE(said.find(" is not taken: "), said.npos) << said;
        EXPECT_NE(said.find(r.why), said.npos) << said;
        seen.insert(name);
      }
    }
  EXPECT_GT(seen.size(), 60u);
}

TEST(PairOptions, InfinitelyIsARowEachFiveSeconds) {
  EXPECT_EQ(parsed(kWriteBw, {"--run_infinitely"}).options.seconds, 5u);
  EXPECT_EQ(parsed(kWriteBw, {"--run_infinitely", "-D", "2"}).options.seconds, 2u);
}

TEST(PairOptions, JsonHasTheNameOfPerftest) {
  EXPECT_EQ(parsed(kWriteBw, {"--out_json"}).options.json, "perftest_out.json");
  EXPECT_EQ(parsed(kWriteBw, {"--out_json_file", "x"}).options.json, "x");
  EXPECT_EQ(parsed(kWriteBw, {}).options.json, "");
}

TEST(PairOptions, WhatMakesNoSenseIsRefusedWithASentence) {
  const std::pair<std::vector<const char*>, const char*> cases[] = {
      {{"-s", "0"}, "a message has 1 byte to 1G"},
      {{"-s", "2000000000"}, "a message has 1 byte"},
      {{"-s", "4x"}, "a message has 1 byte"},
      {{"-c", "UD"}, "RC"},
      {{"-l", "9", "-t", "8"}, "more than the 8"},
      {{"--run_infinitely", "--reversed"}, "leave out --reversed"},
      {{"-b", "--reversed"}, "leave out --reversed"},
      {{"-Q", "9", "-t", "8"}, "more than the 8"},
      {{"-T", "3", "--tclass", "3"}, "excludes"},
      {{"--output", "latency"}, "bandwidth and message_rate"},
      {{"-w", "-5"}, "-5"},
      {{"--run_infinitely", "-a"}, "one size"},
      {{"-p", "0", "host"}, "for a server"},
      {{"-n", "5", "-D", "5"}, "excludes"},
      {{"-H"}, "-H"},
      {{"a", "b"}, "b"},
  };
  for (const auto& [words, part] : cases) {
    const std::string said = complaint(kWriteBw, words);
    EXPECT_NE(said.find(part), said.npos) << said;
    EXPECT_NE(said.find("plait_write_bw --help"), said.npos) << said;
  }
  EXPECT_NE(complaint(kSendLat, {"-H", "-D", "1"}).find("not -D"), std::string::npos);
  EXPECT_NE(complaint(kSendLat, {"-n", "900000000"}).find("each result is kept"), std::string::npos);
  EXPECT_NE(complaint({Operation::send, Measure::bandwidth}, {"-t", "300"}).find("-t 300: at most 248"),
            std::string::npos);
  EXPECT_NE(complaint(kSendLat, {"-r", "512"}).find("-r 512: at most 248"), std::string::npos);
  EXPECT_NE(complaint(kSendLat, {"--nonsense"}).find("--nonsense"), std::string::npos);
}

TEST(PairOptions, HelpFitsAScreenWithThreeExamples) {
  for (const Tool tool : kTools) {
    const std::string help = help_of(tool), name = name_of(tool);
    size_t lines = 0, begin = 0;
    for (size_t end; (end = help.find('\n', begin)) != help.npos; begin = end + 1, lines++)
      EXPECT_LE(end - begin, 100u) << help.substr(begin, end - begin);
    EXPECT_LE(lines, 40u);
    const std::string examples = help.substr(help.find("Examples:"));
    size_t count = 0;
    for (size_t at = 0; (at = examples.find("\n  " + name, at)) != examples.npos; at++) count++;
    EXPECT_EQ(count, 3u) << help;
    EXPECT_EQ(help.find("NAME"), help.npos);
  }
}

}  // namespace
}  // namespace plait::perf::pair
