// Each refusal of a JSON program set, with its line.
#include "unit/exchange/sets.h"

namespace plait::collectives::exchange {
namespace {

// Two ranks exchange one chunk each: an allgather. A step a line, the first on line 6.
const std::string kSound = R"({"plait_program": 1, "name": "pair", "collective": "allgather",
  "ranks": 2, "root": 0, "chunks": 2,
  "variants": [
    {"in_place": true, "min_credits": 0, "rank_order": true, "programs": [
      {"rank": 0, "scratch": 1, "steps": [
        {"op": "send", "peer": 1, "lane": 0, "chunk": 0, "count": 1, "src": "input[0]"},
        {"op": "recv", "peer": 1, "lane": 0, "chunk": 1, "count": 1, "dst": "output[1]"}]},
      {"rank": 1, "scratch": 0, "steps": [
        {"op": "send", "peer": 0, "lane": 0, "chunk": 1, "count": 1, "src": "input[1]"},
        {"op": "recv", "peer": 0, "lane": 0, "chunk": 0, "count": 1, "dst": "output[0]"}]}]}]}
)";

// The sound text with one part replaced where it stands first.
std::string with(std::string_view part, std::string_view other) {
  std::string text = kSound;
  const size_t found = text.find(part);
  EXPECT_NE(found, std::string::npos) << part;
  return text.replace(found, part.size(), other);
}

void refused(std::string_view part, std::string_view other, int line, std::string_view why) {
  SCOPED_TRACE(other);
  expect_refused(from_json(with(part, other), "a.json"), "a.json:" + std::to_string(line) + ": ", why);
}

TEST(JsonRefused, NothingOfTheSoundOne) {
  const auto set = from_json(kSound, "a.json");
  ASSERT_TRUE(set.ok()) << set.status().text();
  EXPECT_TRUE(admit(*set).ok());
}

TEST(JsonRefused, WhatIsNotJson) {
  expect_refused(from_json("", "a.json"), "a.json:1: ", "not JSON");
  expect_refused(from_json("\n\nring", "a.json"), "a.json:3: ", "not JSON");
  expect_refused(from_json(kSound.substr(0, kSound.size() / 2), "a.json"), "a.json:", "not JSON");
  expect_refused(from_json(kSound + "x", "a.json"), "a.json:11: ", "not JSON");
  expect_refused(from_json(std::string(100000, '['), "a.json"),
                 "a.json:1: ", "an array does not belong here");
  expect_refused(from_json("[]", "a.json"), "a.json:1: ", "an array does not belong here");
  expect_refused(from_json("1", "a.json"), "a.json:1: ", "a number does not belong here");
  expect_refused(from_json("{}", "a.json"), "a.json:1: ", "without 'variants'");
  expect_refused(from_json("{\"plait_program\": \"\x01\"}", "a.json"), "a.json:1: ", "not JSON");
}

TEST(JsonRefused, AnotherFormat) {
  expect_refused(from_json(with("\"plait_program\": 1", "\"plait_program\": 2"), "a.json"),
                 "a.json:1: ", "the format's version is 2; this plait reads 1", Code::version);
  refused("\"plait_program\": 1", "\"plait_program\": 0", 1, "the format's version is 0");
  refused("\"plait_program\": 1, ", "", 3, "'plait_program' is missing; it stands before 'variants'");
  refused("\"ranks\": 2, ", "", 3, "'ranks' is missing");
  refused("\"name\"", "\"title\"", 1, "unknown field 'title'");
  refused("\"root\": 0", "\"root\": 0, \"root\": 0", 2, "'root' stands here twice");
  refused("\"pair\"", "\"\"", 1, "the name has 0 bytes");
  refused("\"pair\"", "7", 1, "'name' cannot be a number");
  refused("\"pair\"", "null", 1, "'name' cannot be null");
  refused("\"pair\"", "{}", 1, "an object does not belong here");
  refused("\"root\": 0", "\"root\": [0]", 2, "an array does not belong here");
  refused("[\n    {\"in", "[7, {\"in", 3, "a number does not belong here");
  refused("\"rank_order\": true", "\"rank_order\": 1", 4, "'rank_order' cannot be a number");
}

TEST(JsonRefused, NumbersThatAreNone) {
  refused("\"ranks\": 2", "\"ranks\": -2", 2, "no number here is negative");
  refused("\"ranks\": 2", "\"ranks\": 2.5", 2, "2.5: all numbers here are whole");
  refused("\"ranks\": 2", "\"ranks\": 1e9", 2, "1e9: all numbers here are whole");
  refused("\"ranks\": 2", "\"ranks\": 99999999999999999999", 2, "all numbers here are whole");
  refused("\"ranks\": 2", "\"ranks\": 4294967298", 2, "'ranks' is 4294967298: it is at most");
  refused("\"lane\": 0", "\"lane\": 65536", 6, "'lane' is 65536: it is at most 65535");
  refused("\"min_credits\": 0", "\"min_credits\": 2", 4, "'min_credits' is 2: it is at most 1");
  // The line of a number at the end of a line, where the parser has read on.
  refused("\"root\": 0, ", "\"root\": -1\n, ", 2, "no number here is negative");
}

TEST(JsonRefused, SizesThatDoNotFit) {
  refused("\"ranks\": 2", "\"ranks\": 0", 3, "0 ranks: a program set has 1 to");
  refused("\"ranks\": 2", "\"ranks\": 2000000000", 3, "2000000000 ranks: a program set has 1 to");
  refused("\"chunks\": 2", "\"chunks\": 2000000000", 3, "2000000000 chunks: a program set has 1 to");
  refused("\"chunks\": 2", "\"chunks\": 3", 3,
          "3 chunks cannot be shared out evenly among the 2 ranks of allgather");
  refused("\"root\": 0", "\"root\": 2", 3, "root 2: there are 2 ranks");
  refused("\"scratch\": 1", "\"scratch\": 2000000000", 5, "2000000000 slots of scratch");
  refused("allgather", "gossip", 1, "'gossip' is no collective of plait");
  refused("\"collective\": \"allgather\"", "\"collective\": \"barrier\"", 3, "a barrier has one chunk");
  refused("\"collective\": \"allgather\"", "\"collective\": \"alltoall\", \"chunks\": 4", 2,
          "'chunks' stands here twice");
  refused("\"ranks\": 2", "\"ranks\": 1", 6, "step 0 of rank 0: peer 1: there are 1 ranks");
  refused("\"ranks\": 2, \"root\": 0, \"chunks\": 2", "\"ranks\": 4, \"root\": 0, \"chunks\": 4", 10,
          "2 programs, of 4 ranks");
}

TEST(JsonRefused, BeyondTheLimits) {
  auto limited = [](Limits limits) { return from_json(kSound, "a.json", limits); };
  EXPECT_TRUE(limited({.ranks = 2, .chunks = 2, .scratch = 1, .steps = 4, .cells = 9, .touches = 4}).ok());
  expect_refused(limited({.ranks = 1}), "a.json:3: ", "2 ranks: a program set has 1 to 1");
  expect_refused(limited({.chunks = 1}), "a.json:3: ", "2 chunks: a program set has 1 to 1");
  expect_refused(limited({.scratch = 0}), "a.json:5: ", "1 slots of scratch: a rank has at most 0");
  expect_refused(limited({.steps = 3}), "a.json:10: ", "more than 3 steps in all");
  expect_refused(limited({.cells = 8}), "a.json:8: ", "the ranks have more than 8 places in all");
  expect_refused(limited({.touches = 3}), "a.json:10: ", "the steps touch more than 3 places in all");
}

TEST(JsonRefused, Steps) {
  refused("\"op\": \"send\"", "\"op\": \"jump\"", 6, "'jump' is no step that can be read");
  refused("\"op\": \"send\"", "\"op\": \"encode\"", 6, "'encode' is no step that can be read");
  refused("\"op\": \"send\", ", "", 6, "step 0 of rank 0: 'op' is missing");
  refused(", \"src\": \"input[0]\"", "", 6, "step 0 of rank 0: a send needs a 'src'");
  refused("\"src\": \"input[0]\"", "\"src\": \"input[0]\", \"dst\": \"output[0]\"", 6, "a send has no 'dst'");
  refused("\"peer\": 1, ", "", 6, "a send needs a 'peer'");
  refused("\"peer\": 1", "\"peer\": 0", 6, "a rank cannot be its own peer");
  refused("\"peer\": 1", "\"peer\": 2", 6, "peer 2: there are 2 ranks");
  refused("\"chunk\": 0", "\"chunk\": 2", 6, "no chunks 2+1: there are 2");
  refused("\"count\": 1", "\"count\": 0", 6, "no chunks 0+0");
  refused("\"count\": 1", "\"count\": 3", 6, "no chunks 0+3");
  refused("\"input[0]\"", "\"input[2]\"", 6, "input[2]+1 is out of bounds: there are 2 slots");
  refused("\"input[0]\"", "\"scratch[1]\"", 6, "scratch[1]+1 is out of bounds: there are 1 slots");
  for (const char* place : {"", "input", "input[]", "input[-1]", "input[0", "inputs[0]", "wire[0]",
                            "input[0]x", "input[99999999999]", "input[536870912]", "nowhere"}) {
    refused("\"input[0]\"", "\"" + std::string(place) + "\"", 6, "is no place");
  }
}

TEST(JsonRefused, Flags) {
  refused("\"src\": \"input[0]\"", "\"src\": \"input[0]\", \"flags\": [\"least\"]", 6, "'least' is no flag");
  refused("\"src\": \"input[0]\"", "\"src\": \"input[0]\", \"flags\": [1]", 6,
          "a number does not belong here");
  refused("\"src\": \"input[0]\"", "\"src\": \"input[0]\", \"flags\": [\"more\"]", 7,
          "cannot be one message with the step before");
  refused("\"dst\": \"output[1]\"", "\"dst\": \"output[1]\", \"flags\": [\"more\"]", 7,
          "the last step of rank 0 says 'more'");
}

TEST(JsonRefused, Programs) {
  refused("\"rank\": 1", "\"rank\": 0", 8, "rank 0 where the program of rank 1 is due");
  refused("\"rank\": 1, ", "", 8, "'rank' is missing");
  refused("\"steps\": [\n        {\"op\": \"send\", \"peer\": 0",
          "\"steps\": [], \"steps\": [\n        {\"op\": \"send\", \"peer\": 0", 8,
          "'steps' stands here twice");
  refused("{\"rank\": 1, \"scratch\": 0, \"steps\"",
          "{\"rank\": 1, \"scratch\": 0}, {\"rank\": 1, \"scratch\": 0, \"steps\"", 8,
          "a program without 'steps'");
  std::string text = kSound;
  const size_t end = text.rfind("]}\n");
  text.insert(end, ", " + kSound.substr(kSound.find("{\"in_place\""), end - kSound.find("{\"in_place\"")));
  expect_refused(from_json(text, "a.json"), "a.json:10: ", "a second variant that is in place alike");
  expect_refused(from_json(kSound.substr(0, kSound.find('[')) + "[]}", "a.json"),
                 "a.json:3: ", "no variants");
}

TEST(JsonRefused, WordsThatCouldSteerATerminal) {
  const auto set = from_json(with("allgather", "\\u001b[2Jgossip"), "a.json");
  expect_refused(set, "a.json:1: ", "'?[2Jgossip' is no collective");
}

}  // namespace
}  // namespace plait::collectives::exchange
