// Records come from files: whatever lies in one, reading it is safe.
#include "tools/run/record.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace plait::run {
namespace {

const std::string kRecord = R"json(
{"plait_dump": 1, "why": "signal", "clock_ns": 5, "unix_ms": 1, "job": "j", "communicator": 2, "rank": 1,
 "size": 4, "host": "h", "pid": 77, "signal": true, "created": true, "started": 18446744073709551615, "done": 7,
 "error": {"status": -6, "name": "peer failed", "culprit": 3, "operation": 8, "text": "it \u001b[31mdied"},
 "waiting": {"operation": 8, "ms": 1500, "seen_ms_ago": 3, "for": "rank 3 (step 1)"},
 "arrived": [{"ranks": [0, 2], "operation": 8}, {"ranks": [3, 3], "operation": 7}],
 "operations": [
  {"number": 8, "state": "running", "kind": "broadcast", "count": 4, "dtype": "float32", "root": 3,
   "in_place": false, "algorithm": "star"},
  {"number": 7, "state": "done", "kind": "allreduce", "count": 1024, "dtype": "float32", "op": "sum",
   "in_place": true, "algorithm": "ring"},
  {"number": 9, "state": "queued", "kind": "barrier"}]})json";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kRecord;
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Record, IsReadWhole) {
  const auto r = parse_record(kRecord);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->why, "signal");
  EXPECT_EQ(r->communicator, 2u);
  EXPECT_EQ(r->rank, 1);
  EXPECT_EQ(r->size, 4);
  EXPECT_EQ(r->pid, 77);
  EXPECT_EQ(r->started, UINT64_MAX);
  EXPECT_EQ(r->running(), 8u);
  EXPECT_EQ(r->failure->text, "it ?[31mdied") << "nothing that steers a terminal";
  EXPECT_EQ(r->wait->peers, "rank 3 (step 1)");
  ASSERT_EQ(r->arrived.size(), 2u);
  EXPECT_EQ(r->arrived[0].last, 2);
  ASSERT_EQ(r->operations.size(), 3u);
  EXPECT_EQ(r->find(7)->call(), "allreduce(count=1024, float32, sum, in place, by ring)");
  EXPECT_EQ(r->find(8)->call(), "broadcast(count=4, float32, root=3, by star)");
  EXPECT_EQ(r->find(9)->call(), "barrier");
}

TEST(Record, EveryFieldIsChecked) {
  const std::pair<const char*, const char*> wrong[] = {{"\"plait_dump\": 1", "\"plait_dump\": 2"},
                                                       {"\"rank\": 1", "\"rank\": 4"},
                                                       {"\"rank\": 1", "\"rank\": -1"},
                                                       {"\"rank\": 1", "\"rank\": 1.5"},
                                                       {"\"rank\": 1", "\"rank\": \"1\""},
                                                       {"\"size\": 4", "\"size\": 2000000"},
                                                       {"\"size\": 4", "\"size\": 99999999999999999999"},
                                                       {"\"pid\": 77", "\"pid\": -1"},
                                                       {"\"pid\": 77", "\"pid\": 1"},
                                                       {"\"pid\": 77", "\"pid\": 4294967373"},
                                                       {"\"signal\": true", "\"signal\": 1"},
                                                       {"\"done\": 7", "\"done\": -7"},
                                                       {"\"job\": \"j\"", "\"job\": null"}};
  for (const auto& [from, to] : wrong) EXPECT_FALSE(parse_record(with(from, to))) << to;
}

TEST(Record, WhatIsOddInAListIsLeftOut) {
  EXPECT_EQ(parse_record(with("\"ranks\": [0, 2]", "\"ranks\": [0, 4]"))->arrived.size(), 1u);
  EXPECT_EQ(parse_record(with("\"ranks\": [0, 2]", "\"ranks\": [2, 0]"))->arrived.size(), 1u);
  EXPECT_EQ(parse_record(with("\"ranks\": [0, 2]", "\"ranks\": 7"))->arrived.size(), 1u);
  EXPECT_EQ(parse_record(with("\"ranks\": [0, 2]", "\"ranks\": [0, 3]"))->arrived.size(), 1u)
      << "a rank comes once";
  EXPECT_EQ(parse_record(with("\"number\": 9", "\"number\": {}"))->operations.size(), 2u);
  EXPECT_FALSE(parse_record(with("\"ms\": 1500", "\"ms\": []"))->wait);
  EXPECT_FALSE(parse_record(with("{\"status\"", "[{\"status\"").substr(0, 100)));
}

TEST(Record, RailsThatAreOut) {
  const std::string arrived = "\"arrived\"";
  const auto of = [&](const std::string& events) {
    return parse_record(
               with(arrived, R"("rails": [{"name": "tcp:eth0"}, {"name": "tcp:eth1"}], "rail_events": [)" +
                                 events + "], " + arrived))
        ->rails_out;
  };
  const std::string out =
      R"({"ms_ago": 5, "operation": 2, "rank": 1, "rail": 1, "what": "out", "why": "it is cut"})";
  std::string settled = out, back = out;
  settled.replace(settled.find("out"), 3, "settled");
  back.replace(back.find("out"), 3, "back");
  EXPECT_TRUE(of("").empty());
  EXPECT_TRUE(of(out).empty());
  const auto one = of(out + ", " + settled + ", " + settled);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].name, "tcp:eth1");
  EXPECT_EQ(one[0].why, "it is cut");
  EXPECT_EQ(one[0].rank, 1);
  EXPECT_EQ(one[0].rail, 1u);
  EXPECT_EQ(one[0].ms_ago, 5);
  EXPECT_TRUE(of(settled + ", " + back).empty());
  for (const auto& [from, to] : {std::pair{"\"rail\": 1", "\"rail\": 2"},
                                 {"\"rank\": 1", "\"rank\": 4"},
                                 {"\"rank\": 1", "\"rank\": -1"},
                                 {"\"why\"", "\"who\""}}) {
    std::string odd = settled;
    EXPECT_TRUE(of(odd.replace(odd.find(from), std::string(from).size(), to)).empty()) << to;
  }
}

TEST(Record, NoBytesAreDangerous) {
  for (size_t cut = 0; cut < kRecord.size(); cut++) EXPECT_FALSE(parse_record(kRecord.substr(0, cut)));
  for (size_t at = 0; at < kRecord.size(); at++) {
    for (char c : {'\0', '"', '{', ']', '9', '\xff'}) {
      std::string text = kRecord;
      text[at] = c;
      (void)parse_record(text);
    }
  }
  EXPECT_FALSE(parse_record(std::string(kMostRecordBytes, '[')));
  EXPECT_FALSE(parse_record(std::string(kMostRecordBytes + 1, ' ')));
  EXPECT_FALSE(parse_record("[]"));
}

TEST(Record, OnlyPlainFilesOfSoundSizeAreRead) {
  char name[] = "/tmp/plait-record-XXXXXX";
  const std::string folder = mkdtemp(name), path = folder + "/r", pipe = folder + "/p", link = folder + "/l";
  std::ofstream(path) << kRecord;
  EXPECT_TRUE(load_record(path));
  EXPECT_EQ(symlink(path.c_str(), link.c_str()), 0);
  EXPECT_FALSE(load_record(link));
  EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(load_record(pipe));
  EXPECT_FALSE(load_record(folder));
  EXPECT_EQ(truncate(path.c_str(), kMostRecordBytes + 1), 0);
  EXPECT_FALSE(load_record(path));
  EXPECT_FALSE(load_record(folder + "/none"));
  for (const std::string& file : {path, pipe, link}) unlink(file.c_str());
  rmdir(folder.c_str());
}

}  // namespace
}  // namespace plait::run
