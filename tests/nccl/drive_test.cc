// nccl-net-drive passes a plugin that keeps the contract, and says of one that does not at which point.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "support/command.h"

namespace plait::test {
namespace {

Outcome drive(std::vector<std::string> words, const std::string& broken = "") {
  words.insert(words.begin(), {required("NCCL_NET_DRIVE"), required("NCCL_NET_REFERENCE")});
  return run({words, {{"NCCL_REFERENCE_BROKEN", broken}}, {}, {}}, 150);
}

std::set<int> points(const nlohmann::json& json, const std::string& verdict) {
  std::set<int> all;
  for (const auto& check : json["checks"])
    if (check["verdict"] == verdict) all.insert(check["point"].get<int>());
  return all;
}

class KeepsTheContract : public testing::TestWithParam<const char*> {};

TEST_P(KeepsTheContract, AtEveryPoint) {
  const Outcome o = drive({"--json", "--net-version", GetParam()});
  ASSERT_EQ(o.status, 0) << o.out << o.err;
  const auto json = nlohmann::json::parse(o.out);
  EXPECT_EQ(std::to_string(json["version"].get<int>()), GetParam());
  EXPECT_EQ(points(json, "pass").size(), 15u) << o.out;
  EXPECT_EQ(points(json, "FAIL").size(), 0u) << o.out;
  EXPECT_GT(json["bytes"].get<uint64_t>(), uint64_t{50} << 20);
}
// Of the versions between them, one table is another's but for a word.
INSTANTIATE_TEST_SUITE_P(Versions, KeepsTheContract, testing::Values("8", "10", "12"));

struct Fault {
  const char* name;
  int point;
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class BreaksTheContract : public testing::TestWithParam<Fault> {};

TEST_P(BreaksTheContract, AtThisPointAlone) {
  const Fault fault = GetParam();
  const std::string other = fault.point == 2 ? "6" : "2";
  const Outcome o =
      drive({"--json", "--timeout", "2", "--point", std::to_string(fault.point) + "," + other}, fault.name);
  EXPECT_EQ(o.status, 1) << o.err;
  const auto json = nlohmann::json::parse(o.out);
  EXPECT_EQ(points(json, "FAIL"), std::set<int>{fault.point}) << o.out;
}
INSTANTIATE_TEST_SUITE_P(
    Faults, BreaksTheContract,
    testing::Values(Fault{"no-finalize", 1}, Fault{"no-device", 1}, Fault{"leaks", 1}, Fault{"properties", 2},
                    Fault{"limits", 2}, Fault{"handle", 3}, Fault{"blocks-in-connect", 4},
                    Fault{"accepts-once", 5}, Fault{"device-handle", 6}, Fault{"one-thread", 7},
                    Fault{"few-requests", 8}, Fault{"needs-own-test", 8}, Fault{"keeps-0x1", 9},
                    Fault{"mixes-tags", 10}, Fault{"max-recvs", 10}, Fault{"moves-nothing", 10},
                    Fault{"no-sizes", 11}, Fault{"round-robin", 11}, Fault{"forgets-zero", 12},
                    Fault{"overruns", 12}, Fault{"truncates", 12}, Fault{"peer-death", 13},
                    Fault{"touches-after-close", 14}, Fault{"waits-in-close", 14},
                    Fault{"takes-any-class", 15}),
    [](const auto& one) {
      std::string name = one.param.name;
      std::erase(name, '-');
      return name;
    });

TEST(NcclNetDrive, SaysWhatHungAndInWhichCall) {
  const Outcome o = drive({"--point", "4", "--timeout", "1"}, "blocks-in-connect");
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(
      o.out.find(
          "FAIL           connect and accept, to itself: connect had not returned after 1 s: it blocks"),
      std::string::npos)
      << o.out;
  EXPECT_NE(o.out.find("this failed: connect and accept, to itself"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("not kept: 4 (handshake)"), std::string::npos) << o.out;
}

TEST(NcclNetDrive, DevicesThatMoveNothingAreNoPass) {
  const Outcome o = drive({}, "moves-nothing");
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.out.find("was done and no byte had moved"), std::string::npos) << o.out;
}

TEST(NcclNetDrive, Scripts) {
  const Outcome o = drive({"--script", "1", "--count", "40"});
  EXPECT_EQ(o.status, 0) << o.out << o.err;
  EXPECT_EQ(o.out.substr(0, 30), "40 scripts from seed 1: pass; ");
  EXPECT_EQ(drive({"--script", "41", "--count", "20", "--net-version", "8"}).status, 0);
}

TEST(NcclNetDrive, AScriptThatFailsNamesItsSeed) {
  for (const char* fault : {"mixes-tags", "overruns", "max-recvs", "forgets-zero", "peer-death"}) {
    const Outcome first = drive({"--script", "100", "--count", "60", "--timeout", "2", "--json"}, fault);
    ASSERT_EQ(first.status, 1) << fault << ": " << first.out;
    const auto json = nlohmann::json::parse(first.out);
    EXPECT_NE(json["why"], "") << fault;
    const auto seed = json["seed"].get<uint64_t>();
    EXPECT_EQ(seed, 100 + json["done"].get<uint64_t>());
    const Outcome again = drive({"--script", std::to_string(seed), "--timeout", "2"}, fault);
    EXPECT_EQ(again.status, 1) << fault << ": " << again.out;
    EXPECT_NE(again.out.find("Again: --script " + std::to_string(seed)), std::string::npos) << again.out;
  }
}

TEST(NcclNetDrive, AScriptSeesMemoryTouchedAfterAClose) {
  EXPECT_EQ(drive({"--script", "1", "--count", "100"}, "touches-after-close").status, 1);
}

TEST(NcclNetDrive, Measures) {
  const Outcome o = drive({"--measure", "--plain", "--sizes", "8,64K", "--windows", "1,4", "--comms", "2",
                           "--rounds", "1", "--json"});
  ASSERT_EQ(o.status, 0) << o.err;
  const auto json = nlohmann::json::parse(o.out);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1]["bytes"], 65536);
  for (const auto& row : json) {
    EXPECT_GT(row["half_us"].get<double>(), 0);
    EXPECT_GT(row["plain"]["half_us"].get<double>(), 0);
    ASSERT_EQ(row["streams"].size(), 2u);
    for (const auto& stream : row["streams"]) {
      EXPECT_GT(stream["gb_per_s"].get<double>(), 0);
      EXPECT_GT(stream["plain"]["gb_per_s"].get<double>(), 0);
    }
  }
  const Outcome table = drive({"--measure", "--sizes", "8", "--windows", "2", "--rounds", "1"});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_EQ(lines(table.out).size(), 3u) << table.out;
}

TEST(NcclNetDrive, WhatMovesNothingIsNotFast) {
  const Outcome o = drive({"--measure", "--sizes", "8", "--rounds", "1"}, "moves-nothing");
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.err.find("their memory holds other bytes than were sent"), std::string::npos) << o.err;
}

TEST(NcclNetDrive, AMeasurementThatHangsSaysWhere) {
  const Outcome o = drive({"--measure", "--sizes", "8", "--timeout", "1"}, "blocks-in-connect");
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.err.find("connect had not returned after 1 s: it blocks"), std::string::npos) << o.err;
}

TEST(NcclNetDrive, HelpFitsAScreenAndShowsExamples) {
  const Outcome o = drive({"--help"});
  expect_help(o, "nccl-net-drive");
}

TEST(NcclNetDrive, ListsChecksOfAllPoints) {
  const Outcome o = run({{required("NCCL_NET_DRIVE"), "--list"}, {}, {}, {}});
  EXPECT_EQ(o.status, 0);
  EXPECT_GT(lines(o.out).size(), 60u);
}

TEST(NcclNetDrive, WrongUses) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> uses = {
      {{}, "which plugin?"},
      {{"/nowhere/libnccl-net.so"}, "cannot load the plugin /nowhere/libnccl-net.so"},
      {{"libm.so.6"}, "exports no ncclNetPlugin_v8 to _v12"},
      {{"x", "--net-version", "7"}, "--net-version"},
      {{"x", "--point", "16"}, "--point"},
      {{"x", "--sizes", "4Q"}, "--sizes 4Q: not a size"},
      {{"x", "--measure", "--script", "1"}, "--measure or --script"},
  };
  for (const auto& [words, text] : uses) {
    std::vector<std::string> all = words;
    all.insert(all.begin(), required("NCCL_NET_DRIVE"));
    const Outcome o = run({all, {}, {}, {}});
    EXPECT_EQ(o.status, 2) << text;
    EXPECT_NE(o.err.find(text), std::string::npos) << o.err;
  }
}

}  // namespace
}  // namespace plait::test
