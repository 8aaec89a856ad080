#include "tools/run/diagnose.h"

#include <gtest/gtest.h>

namespace plait::run {
namespace {

using Text = std::vector<std::string>;

const std::string kArguments = "count=1024, float32, sum, in place, by ring";

// A rank of four that has started `started` allreduces and ended `done`.
Record at(int rank, uint64_t started, uint64_t done) {
  Record r;
  r.job = "j";
  r.why = "signal";
  r.rank = rank;
  r.size = 4;
  r.created = true;
  r.started = started;
  r.done = done;
  for (uint64_t n = started > 3 ? started - 3 : 1; n <= started; n++)
    r.operations.push_back({n, "allreduce", kArguments});
  return r;
}

Record note(int rank) {
  Record r = at(rank, 0, 0);
  r.why = "created";
  r.created = false;
  return r;
}

TEST(RanksText, JoinsNeighbours) {
  EXPECT_EQ(ranks_text({3}), "rank 3");
  EXPECT_EQ(ranks_text({0, 1, 2, 5, 7, 8}), "ranks 0-2, 5, 7-8");
}

TEST(Compare, ARankBehind) {
  EXPECT_EQ(compare({at(0, 1208, 1207), at(1, 1208, 1207), at(2, 1208, 1207), at(3, 1207, 1206)}, {}),
            (Text{"communicator 0: rank 3 is in allreduce 1207 (" + kArguments + "), all others in 1208"}));
}

TEST(Compare, ARankThatHasNotStarted) {
  Record waiting = at(0, 12, 11);
  waiting.wait = {12, 3140, 5, "rank 2 (step 1)"};
  EXPECT_EQ(compare({waiting, at(1, 12, 11), at(2, 11, 11), at(3, 12, 11)}, {}),
            (Text{"communicator 0: rank 2 has not started allreduce 12 (" + kArguments +
                  "); ranks 0-1, 3 wait in it, for 3.1 s now"}));
}

TEST(Compare, DifferentCallsUnderOneNumber) {
  Record other = at(3, 12, 11);
  other.operations.back() = {12, "broadcast", "count=4, float32, root=1"};
  EXPECT_EQ(compare({at(0, 12, 11), at(1, 12, 11), at(2, 12, 11), other}, {}),
            (Text{"communicator 0: under number 12 ranks 0-2 call allreduce(" + kArguments +
                  "), rank 3 calls broadcast(count=4, float32, root=1)"}));
}

TEST(Compare, RanksAllOver) {
  EXPECT_EQ(
      compare({at(0, 5, 4), at(1, 9, 8), at(2, 7, 7), at(3, 0, 0)}, {}),
      (Text{"communicator 0: rank 3 is before the first operation, rank 0 in allreduce 5, rank 2 between "
            "operations, after allreduce 7, rank 1 in allreduce 9"}));
}

TEST(Compare, AllAreStuckInOneOperation) {
  std::vector<Record> records = {at(0, 5, 4), at(1, 5, 4), at(2, 5, 4), at(3, 5, 4)};
  for (Record& r : records)
    r.wait = {5, 20'000, 5, "rank " + std::to_string((r.rank + 1) % 4) + " (step 2: recv)"};
  const std::string all = "communicator 0: all ranks are in allreduce 5 (" + kArguments + "), for 20.0 s now";
  EXPECT_EQ(compare(records, {}), (Text{all, "communicator 0: rank 0 waits for rank 1 (step 2: recv)",
                                        "communicator 0: rank 1 waits for rank 2 (step 2: recv)",
                                        "communicator 0: rank 2 waits for rank 3 (step 2: recv)"}));
}

TEST(Compare, RanksThatDoNotComeBackToPlait) {
  std::vector<Record> records = {at(0, 5, 4), at(1, 5, 4), at(2, 5, 4), at(3, 5, 4)};
  records[0].wait = {5, 20'000, 5, "rank 1 (step 2: recv)"};
  records[1].wait = {5, 19'000, 9'500, "rank 0 (step 2: recv)"};
  const std::string why = ": computing, or stuck elsewhere, while only plait calls move it on";
  EXPECT_EQ(compare(records, {}),
            (Text{"communicator 0: all ranks are in allreduce 5 (" + kArguments + "), for 20.0 s now",
                  "communicator 0: rank 1 was last in plait 9.5 s ago" + why,
                  "communicator 0: ranks 2-3 have not waited for it" + why}));
}

TEST(Compare, WhoLeftNoRecordIsKnownFromTheOthers) {
  Record seen = at(0, 12, 11);
  seen.arrived = {{0, 0, 12}, {1, 2, 11}, {3, 3, 0}};
  EXPECT_EQ(
      compare({seen, note(1), note(2)}, {"", "it was killed by SIGKILL", "", "it is stopped"}),
      (Text{
          "communicator 0: rank 0 is in allreduce 12 (" + kArguments + ")",
          "communicator 0: rank 2 left no record: it did not answer; it was last seen to start allreduce 11",
          "communicator 0: rank 3 left no record: it is stopped; it was not seen to start an operation",
          "communicator 0: rank 1 left no record: it was killed by SIGKILL; it was last seen to start "
          "allreduce 11"}));
}

// A file may claim what it likes: a million ranks must not keep anybody waiting for hours.
TEST(Compare, AMillionRanksAreCompared) {
  Record creating = at(0, 0, 0), running = at(1, 12, 11);
  creating.created = false;
  creating.size = running.size = 1 << 20;
  for (int i = 2; i + 1 < running.size; i += 2) running.arrived.push_back({i, i, uint64_t(i) % 3});
  for (const auto& records : {std::vector{creating}, std::vector{running}, std::vector{creating, running}}) {
    const Text lines = compare(records, {});
    EXPECT_LE(lines.size(), kMostLines);
    for (const std::string& line : lines) EXPECT_LT(line.size(), 2000u);
  }
}

TEST(Compare, WhoDidNotComeToCreate) {
  Record creating = at(0, 0, 0);
  creating.created = false;
  Record also = creating;
  also.rank = 2;
  EXPECT_EQ(compare({creating, also}, {}),
            (Text{"communicator 0: ranks 1, 3 have not called plait_comm_create; ranks 0, 2 wait in it"}));
}

TEST(Compare, TheFirstFailureIsTold) {
  Record first = at(1, 2, 1), second = at(0, 2, 1);
  first.why = second.why = "error";
  first.clock_ns = 10;
  second.clock_ns = 20;
  first.failure = {"a deadline passed", "the deadline passed in operation 2"};
  second.failure = {"a deadline passed", "rank 1 gave up"};
  EXPECT_EQ(compare({second, first}, {}).back(),
            "communicator 0: rank 1 was the first to give up: the deadline passed in operation 2");
}

TEST(Compare, RailsThatAreOutAreTold) {
  std::vector<Record> records = {at(0, 5, 5), at(1, 5, 5), at(2, 5, 5), at(3, 5, 5)};
  records[1].rails_out = {{3, 1, "tcp:eth1", "nothing came", 12'300}};
  Text lines = compare(records, {});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1],
            "communicator 0: rank 1 lacks rail 1 (tcp:eth1) to rank 3, for 12.3 s now: nothing came");
  records[0].rails_out.assign(10, records[1].rails_out[0]);
  lines = compare(records, {});
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines.back(), "communicator 0: and so 7 times more");
}

TEST(Compare, CommunicatorsWhereAllIsWellAreLeftOutUnlessAllAre) {
  std::vector<Record> records = {at(0, 5, 5), at(1, 5, 5), at(2, 5, 5), at(3, 5, 5)};
  const Text quiet = {"communicator 0: all ranks are between operations, after allreduce 5"};
  EXPECT_EQ(compare(records, {}), quiet);
  for (int rank = 0; rank < 4; rank++) {
    records.push_back(at(rank, rank == 1 ? 2 : 3, 2));
    records.back().communicator = 7;
  }
  const Text lines = compare(records, {});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].starts_with("communicator 7: rank 1 has not started allreduce 3 (")) << lines[0];
}

TEST(Compare, SaysLittleOfMuch) {
  std::vector<Record> records;
  for (uint64_t communicator = 0; communicator < 100; communicator++) {
    for (int rank = 0; rank < 4; rank++) {
      records.push_back(at(rank, uint64_t(rank) + 2, uint64_t(rank) + 1));
      records.back().communicator = communicator;
    }
  }
  const Text lines = compare(records, {});
  EXPECT_EQ(lines.size(), kMostLines);
  EXPECT_EQ(lines.back(), "and 81 lines more; plait-run --dump FOLDER keeps the records");
  EXPECT_EQ(compare({}, {}), Text{});
}

}  // namespace
}  // namespace plait::run
