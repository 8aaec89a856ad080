// What is written is read again, bit for bit.
#include <nlohmann/json.hpp>

#include "unit/exchange/sets.h"

namespace plait::collectives::exchange {
namespace {

TEST(Json, RoundTripOfEveryAlgorithm) {
  for (const Algorithm& algorithm : algorithms()) {
    for (int n = 1; n <= 8; n++) {
      if (!algorithm.accepts(n)) continue;
      const int root = rooted(algorithm.collective) ? n - 1 : 0;
      SCOPED_TRACE(testing::Message() << algorithm.name << " " << name_of(algorithm.collective) << ", " << n);
      const ProgramSet set = build_set(algorithm, n, root);
      const auto again = from_json(to_json(set), "a.json");
      ASSERT_TRUE(again.ok()) << again.status().text();
      expect_alike(set, *again);
      EXPECT_EQ(to_json(*again), to_json(set));
    }
  }
}

TEST(Json, IsJsonWithOneStepALine) {
  const ProgramSet set = build_set(algorithms()[0], 3, 0);
  const std::string text = to_json(set);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["plait_program"], kJsonVersion);
  EXPECT_EQ(json["name"], set.name);
  EXPECT_EQ(json["ranks"], 3);
  ASSERT_EQ(json["variants"].size(), 2u);
  EXPECT_EQ(json["variants"][1]["in_place"], true);
  size_t steps = 0;
  for (const auto& variant : json["variants"]) {
    for (const auto& program : variant["programs"]) steps += program["steps"].size();
  }
  size_t lines = 0;
  for (size_t at = 0; (at = text.find("\n        {\"op\"", at)) != std::string::npos; at++) lines++;
  EXPECT_EQ(lines, steps);
}

TEST(Json, NamesAreQuoted) {
  ProgramSet set = build_set(algorithms()[0], 2, 0);
  set.name = "a \"ring\" of\\ two";
  const auto again = from_json(to_json(set), "a.json");
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(again->name, set.name);
  set.name = "not UTF-8: \xff";  // is replaced, and ends in no exception
  EXPECT_TRUE(from_json(to_json(set), "a.json").ok());
}

TEST(Json, KeepsFlagsAndPlaces) {
  // Steps of each kind, which need not make sense.
  ProgramSet set{.name = "all", .collective = Collective::allreduce, .root = 0, .programs = {}, .origin = {}};
  for (int32_t rank = 0; rank < 2; rank++) {
    Program p;
    p.rank = rank;
    p.chunks = 4;
    p.scratch = 3;
    p.steps.push_back(
        {.op = Op::send, .flags = kMore, .lane = 65535, .peer = 1 - rank, .src = place(Buffer::input, 1)});
    p.steps.back().chunk = 1, p.steps.back().count = 2;
    p.steps.push_back({.op = Op::send, .lane = 65535, .peer = 1 - rank, .src = place(Buffer::scratch, 2)});
    p.steps.back().chunk = 3, p.steps.back().count = 1;
    p.steps.push_back({.op = Op::recv_reduce,
                       .flags = kSwapped | kLast,
                       .peer = 1 - rank,
                       .dst = place(Buffer::output, 0),
                       .src = place(Buffer::scratch, 0),
                       .count = 3});
    p.steps.push_back({.op = Op::reduce,
                       .flags = kChain,
                       .dst = place(Buffer::scratch, 0),
                       .src = place(Buffer::output, 1),
                       .src2 = place(Buffer::input, 1),
                       .chunk = 1,
                       .count = 1});
    ASSERT_EQ(derive_dependencies(p), "");
    set.programs[0].push_back(std::move(p));
  }
  const auto again = from_json(to_json(set), "a.json");
  ASSERT_TRUE(again.ok()) << again.status().text();
  expect_alike(set, *again);
}

TEST(Json, RemembersTheLineOfEachStep) {
  const std::string text = to_json(build_set(algorithms()[0], 2, 0));
  const auto set = from_json(text, "a.json");
  ASSERT_TRUE(set.ok());
  EXPECT_EQ(set->origin.file, "a.json");
  const auto& lines = set->origin.lines[0];
  ASSERT_EQ(lines.size(), 2u);
  ASSERT_EQ(lines[0].size(), set->programs[0][0].steps.size());
  EXPECT_EQ(lines[0][0], 6u);
  EXPECT_EQ(lines[0][1], 7u);
  EXPECT_EQ(lines[1][0], 6u + lines[0].size() + 1);
}

TEST(Json, ReadsAnyLayout) {
  const ProgramSet set = build_set(algorithms()[0], 2, 0);
  const auto dense = nlohmann::ordered_json::parse(to_json(set)).dump();
  const auto spread = nlohmann::ordered_json::parse(dense).dump(7);
  for (const std::string& text : {dense, spread}) {
    const auto again = from_json(text, "a.json");
    ASSERT_TRUE(again.ok()) << again.status().text();
    expect_alike(set, *again);
  }
}

}  // namespace
}  // namespace plait::collectives::exchange
