// Tuning files: what is good is read, what is wrong is refused with its line.
#include "collectives/choice/tuning.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace plait::collectives {
namespace {

const char* const kGood = R"({
 "plait_tuning": 1,
 "machine": {"cpu": "AMD EPYC", "date": "2026-11-22", "cores": 2, "hosts": 1},
 "cases": [
  {"collective": "allreduce", "ranks": 4, "hosts": 1, "in_place": true,
   "times": [
    {"bytes": 0, "us": {"ring": 3}},
    {"bytes": 8, "us": {"ring": 4, "direct": 2.5}},
    {"bytes": 1024, "us": {"ring": 20, "direct": 10}}
   ]},
  {"collective": "barrier", "ranks": 4, "hosts": 2, "in_place": false,
   "times": [{"bytes": 0, "us": {"dissemination": 9}}]}
 ]
}
)";

Tuning good() {
  auto tuning = parse_tuning(kGood);
  EXPECT_TRUE(tuning.ok()) << tuning.status().text();
  return tuning.ok() ? *tuning : Tuning{};
}
const TuningCase kFour{Collective::allreduce, 4, 1, true};

TEST(Tuning, IsRead) {
  const Tuning tuning = good();
  EXPECT_EQ(tuning.machine.cpu, "AMD EPYC");
  EXPECT_EQ(tuning.machine.date, "2026-11-22");
  EXPECT_EQ(tuning.machine.cores, 2u);
  ASSERT_EQ(tuning.cases.size(), 2u);
  const auto& rows = tuning.cases.at(kFour);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].bytes, 1024u);
  EXPECT_DOUBLE_EQ(rows[2].seconds.at("direct"), 10e-6);
}

TEST(Tuning, TimesBetweenSizes) {
  const Tuning tuning = good();
  auto us = [&](const char* name, uint64_t bytes, TuningCase what = kFour) {
    auto seconds = tuning.seconds(what, name, bytes);
    return seconds ? *seconds * 1e6 : -1;
  };
  EXPECT_DOUBLE_EQ(us("ring", 8), 4);
  EXPECT_DOUBLE_EQ(us("ring", 4), 3.5);
  EXPECT_DOUBLE_EQ(us("ring", 8 + 508), 12);
  EXPECT_DOUBLE_EQ(us("ring", 2048), 40);  // in proportion
  EXPECT_DOUBLE_EQ(us("direct", 8), 2.5);
  EXPECT_EQ(us("direct", 4), -1);  // not measured on both sides
  EXPECT_EQ(us("star", 8), -1);
  EXPECT_EQ(us("ring", 8, {Collective::allreduce, 4, 1, false}), -1);
  EXPECT_EQ(us("ring", 8, {Collective::allreduce, 5, 1, true}), -1);
  EXPECT_DOUBLE_EQ(us("dissemination", 0, {Collective::barrier, 4, 2, false}), 9);
}

TEST(Tuning, IsReadAsItWasWritten) {
  const Tuning tuning = good();
  const std::string text = write_tuning(tuning);
  auto again = parse_tuning(text);
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(write_tuning(*again), text);
  EXPECT_EQ(again->cases.size(), tuning.cases.size());
}

// The good file with `from` replaced by `to`: why it is refused.
std::string refusal(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  text.replace(at, from.size(), to);
  auto tuning = parse_tuning(text);
  if (tuning.ok()) return "";
  EXPECT_EQ(tuning.status().code(), Code::invalid);
  return std::string(tuning.status().text());
}

TEST(Tuning, WhatIsWrongIsRefusedWithItsLine) {
  EXPECT_EQ(refusal("\"plait_tuning\": 1", "\"plait_tuning\": 2"),
            "tuning: line 2: \"plait_tuning\" is a whole number from 1 to 1, not 2");
  EXPECT_EQ(refusal("\"cores\": 2,", ""), "tuning: line 3: \"cores\" is missing");
  EXPECT_EQ(refusal("\"cores\": 2", "\"cores\": \"two\""), "tuning: line 3: \"cores\" is text, not a number");
  EXPECT_EQ(refusal("\"cores\": 2", "\"corse\": 2"), "tuning: line 3: a machine has no \"corse\"");
  EXPECT_EQ(refusal("allreduce", "allreduction"), "tuning: line 5: no collective \"allreduction\"");
  EXPECT_EQ(refusal("\"ranks\": 4", "\"ranks\": 4.5"),
            "tuning: line 5: \"ranks\" is a whole number from 1 to 16777216, not 4.5");
  EXPECT_EQ(refusal("\"hosts\": 1, \"in_place\"", "\"hosts\": 5, \"in_place\""),
            "tuning: line 5: \"hosts\" is a whole number from 1 to 4, not 5");
  EXPECT_EQ(refusal("\"in_place\": true", "\"in_place\": 1"),
            "tuning: line 5: \"in_place\" is a number, not true or false");
  EXPECT_EQ(refusal("\"ring\": 3", "\"ring\": -3"),
            "tuning: line 7: the time of \"ring\" is no number of microseconds from 1e-6 to 1e12");
  EXPECT_EQ(refusal("\"ring\": 3", "\"ring\": 0"),
            "tuning: line 7: the time of \"ring\" is no number of microseconds from 1e-6 to 1e12");
  EXPECT_EQ(refusal("\"ring\": 3", "\"ring\": null"),
            "tuning: line 7: the time of \"ring\" is no number of microseconds from 1e-6 to 1e12");
  EXPECT_EQ(refusal("{\"ring\": 3}", "{}"), "tuning: line 7: a size without times");
  EXPECT_EQ(refusal("\"bytes\": 1024", "\"bytes\": 8"), "tuning: line 9: sizes do not ascend");
  EXPECT_EQ(refusal("\"bytes\": 0, \"us\": {\"dis", "\"bytes\": -1, \"us\": {\"dis"),
            "tuning: line 12: \"bytes\" is a whole number from 0 to 9007199254740992, not -1");
  EXPECT_EQ(refusal("{\"bytes\": 0, \"us\": {\"dissemination\": 9}}", ""),
            "tuning: line 12: a case without times");
  EXPECT_EQ(refusal("\"bytes\": 8,", "\"bytes\": 1e999,").substr(0, 16), "tuning: line 8: ");
  EXPECT_EQ(refusal("\"cases\": [", "\"cases\": {"),
            "tuning: line 5: syntax error while parsing object key - "
            "unexpected '{'; expected string literal");
}

TEST(Tuning, WhatComesTwiceIsRefused) {
  EXPECT_EQ(refusal("\"ring\": 4", "\"direct\": 4"), "tuning: line 8: \"direct\" comes twice");
  std::string twice = kGood;
  const size_t at = twice.find("  {\"collective\": \"barrier\""), end = twice.find("]}\n ]", at);
  twice.insert(at, twice.substr(at, end + 2 - at) + ",\n");
  EXPECT_EQ(parse_tuning(twice).status().text(), "tuning: line 13: the case comes twice");
}

TEST(Tuning, WhatIsNoTuningIsRefused) {
  auto why = [](const std::string& text) { return std::string(parse_tuning(text).status().text()); };
  EXPECT_EQ(why(""),
            "tuning: line 1: syntax error while parsing value - unexpected end of input; expected '[', "
            "'{', or a literal");
  EXPECT_EQ(why("[]"), "tuning: line 1: a tuning is a list, not an object");
  EXPECT_EQ(why("7"), "tuning: line 1: a tuning is a number, not an object");
  EXPECT_EQ(why("{}"), "tuning: line 1: \"plait_tuning\" is missing");
  EXPECT_EQ(why(std::string(100000, '[')), "tuning: line 1: nested too deeply");
  EXPECT_EQ(why(std::string(kMostTuningBytes + 1, ' ')), "tuning: more than 4194304 bytes");
  EXPECT_FALSE(why("\xff\xfe").empty());
  EXPECT_NE(why("{\"plait_tuning\": 1, \"\\u001b[2J\": 1}").find("?[2J"), std::string::npos);
}

TEST(Tuning, TooMuchIsRefused) {
  Tuning many = good();
  std::vector<TuningRow>& rows = many.cases[kFour];
  for (uint64_t bytes = 2000; rows.size() <= kMostTuningRows; bytes++)
    rows.push_back({bytes, {{"ring", 1e-6}}});
  EXPECT_NE(parse_tuning(write_tuning(many)).status().text().find("257 sizes; 256 at most"),
            std::string::npos);
  rows.resize(1);
  for (size_t i = 0; i <= kMostTuningNames; i++) rows[0].seconds["a" + std::to_string(i)] = 1e-6;
  EXPECT_NE(parse_tuning(write_tuning(many)).status().text().find("66 algorithms; 64 at most"),
            std::string::npos);
}

TEST(Tuning, OfAFile) {
  const std::string path = testing::TempDir() + "plait-tuning-" + std::to_string(::getpid()) + ".json";
  EXPECT_EQ(read_tuning(path).status().code(), Code::system);
  std::ofstream(path) << kGood;
  auto tuning = read_tuning(path);
  ASSERT_TRUE(tuning.ok()) << tuning.status().text();
  EXPECT_EQ(write_tuning(*tuning), write_tuning(good()));
  std::ofstream(path) << "{";
  EXPECT_EQ(read_tuning(path).status().text().substr(0, path.size() + 18), path + ": tuning: line 1: ");
  std::filesystem::remove(path);
  EXPECT_EQ(read_tuning(testing::TempDir()).status().code(), Code::invalid);
  EXPECT_EQ(read_tuning("/dev/zero").status().code(), Code::invalid);
}

}  // namespace
}  // namespace plait::collectives
