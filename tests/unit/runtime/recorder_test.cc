#include "runtime/recorder.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "collectives/collective.h"
#include "runtime/dump.h"

namespace plait::runtime {
namespace {

using nlohmann::json;

CallId call(uint64_t count) {
  return {.kind = 0, .dtype = 7, .op = 0, .algorithm = 1, .in_place = 1, .count = count};
}

class Recorded : public testing::Test {
 protected:
  Recorded() {
    char folder[] = "/tmp/plait-recorder-XXXXXX";
    folder_ = mkdtemp(folder);
    recorder_.identify({1, 3, 7, "a \"job\"", "host", folder_ + "/x.json"});
  }
  ~Recorded() override { std::filesystem::remove_all(folder_); }
  json dump(Why why = Why::call) {
    const std::string path = recorder_.who().path;
    EXPECT_EQ(save_dump(recorder_, why, path.c_str()), 0);
    std::ifstream file(path);
    return json::parse(file, nullptr, false);
  }

  std::string folder_;
  Recorder recorder_;
};

TEST_F(Recorded, TellsOfRails) {
  using transport::rails::RailEvent;
  EXPECT_FALSE(dump().contains("rails"));
  auto counts = std::make_shared<transport::rails::AllCounts>(2);
  (*counts)[0].name = "tcp:eth0", (*counts)[1].name = "tcp:\"eth1\"";
  (*counts)[1].bytes.add(4711);
  RailRecord& rails = recorder_.have_rails(counts);
  EXPECT_TRUE(dump()["rail_events"].empty());
  rails.add({.what = RailEvent::What::out, .rail = 1, .endpoint = 2, .why = "the link is cut"}, 9);
  rails.add({.what = RailEvent::What::settled, .rail = 1, .endpoint = 2, .parts = 3, .bytes = 300}, 9);
  rails.add({.what = RailEvent::What::back, .rail = 1, .endpoint = 2}, 0);
  (*counts)[1].deaths.add(1);
  const json d = dump();
  ASSERT_EQ(d["rails"].size(), 2u);
  EXPECT_EQ(d["rails"][1]["name"], "tcp:\"eth1\"");
  EXPECT_EQ(d["rails"][1]["bytes"], 4711);
  EXPECT_EQ(d["rails"][1]["deaths"], 1);
  EXPECT_EQ(d["rails"][0]["deaths"], 0);
  const json& events = d["rail_events"];
  ASSERT_EQ(events.size(), 3u);
  for (const json& event : events) {
    EXPECT_EQ(event["rank"], 2);
    EXPECT_EQ(event["rail"], 1);
    EXPECT_GE(event["ms_ago"], 0);
  }
  EXPECT_EQ(events[0]["what"], "out");
  EXPECT_EQ(events[0]["why"], "the link is cut");
  EXPECT_EQ(events[0]["operation"], 9);
  EXPECT_EQ(events[1]["what"], "settled");
  EXPECT_EQ(events[1]["parts"], 3);
  EXPECT_EQ(events[1]["bytes"], 300);
  EXPECT_EQ(events[2]["what"], "back");
}

TEST_F(Recorded, KeepsTheLastEventsOfRails) {
  using transport::rails::RailEvent;
  RailRecord& rails = recorder_.have_rails(std::make_shared<transport::rails::AllCounts>(2));
  constexpr uint64_t kLast = RailRecord::kEvents + 5;
  const std::string why(2 * RailRecord::kTextBytes, 'x');
  for (uint64_t n = 1; n <= kLast; n++)
    rails.add({.what = RailEvent::What::out, .endpoint = n, .why = why}, n);
  const json events = dump()["rail_events"];
  ASSERT_EQ(events.size(), RailRecord::kEvents);
  EXPECT_EQ(events.front()["operation"], 6);
  EXPECT_EQ(events.back()["operation"], kLast);
  EXPECT_EQ(events.back()["why"], std::string(RailRecord::kTextBytes - 1, 'x'));
}

TEST_F(Recorded, KeepsTheLastOperations) {
  constexpr uint64_t kLast = Recorder::kEntries * 3 + 5;
  for (uint64_t n = 1; n <= kLast; n++) recorder_.started(n, call(n * 10));
  recorder_.finished(kLast - 2);
  EXPECT_EQ(recorder_.latest(), kLast);
  CallId read;
  EXPECT_FALSE(recorder_.read(kLast - Recorder::kEntries, &read));
  ASSERT_TRUE(recorder_.read(kLast - Recorder::kEntries + 1, &read));
  EXPECT_EQ(read, call((kLast - Recorder::kEntries + 1) * 10));

  const json operations = dump()["operations"];
  ASSERT_EQ(operations.size(), Recorder::kEntries);
  EXPECT_EQ(operations.front()["number"], kLast - Recorder::kEntries + 1);
  EXPECT_EQ(operations[Recorder::kEntries - 3]["state"], "done");
  EXPECT_EQ(operations[Recorder::kEntries - 2]["state"], "running");
  EXPECT_EQ(operations[Recorder::kEntries - 1]["state"], "queued");
}

TEST_F(Recorded, WritesWhoAndWhat) {
  recorder_.started(1, {.kind = 3, .dtype = 99, .root = 2, .count = UINT64_MAX});
  recorder_.started(2, {.kind = uint32_t(collectives::Collective::barrier)});
  EXPECT_EQ(dump()["created"], false);
  const collectives::Methods methods(3);
  recorder_.created(methods);
  const json d = dump(Why::error);
  EXPECT_EQ(d["job"], "a \"job\"");
  EXPECT_EQ(d["why"], "error");
  EXPECT_EQ(d["rank"], 1);
  EXPECT_EQ(d["size"], 3);
  EXPECT_EQ(d["communicator"], 7);
  EXPECT_EQ(d["pid"], getpid());
  EXPECT_EQ(d["created"], true);
  EXPECT_EQ(d["started"], 2);
  EXPECT_EQ(
      d["operations"][0].dump(),
      R"({"count":18446744073709551615,"dtype":"dtype ?","in_place":false,"kind":"broadcast","number":1,)"
      R"("root":2,"state":"running"})");
  EXPECT_EQ(d["operations"][1].dump(), R"({"kind":"barrier","number":2,"state":"queued"})");
  EXPECT_FALSE(d.contains("error") || d.contains("waiting"));
}

TEST_F(Recorded, TellsWhatALongWaitIsFor) {
  const int64_t now = now_ns(), later = now + Recorder::kLongWaitNs;
  recorder_.started(1, call(1));
  EXPECT_FALSE(recorder_.waiting(1, now));
  EXPECT_FALSE(recorder_.waiting(1, later - 1));
  EXPECT_EQ(dump()["waiting"]["for"], "");
  EXPECT_TRUE(recorder_.waiting(1, later));
  recorder_.waiting_for("rank 2 (" + std::string(1000, 'x'));
  EXPECT_EQ(dump()["waiting"]["for"].get<std::string>().size(), Recorder::kTextBytes - 1);
  recorder_.waiting_for("rank 0");
  EXPECT_EQ(dump()["waiting"]["for"], "rank 0");
  // The next operation has not been found waiting.
  recorder_.finished(1);
  recorder_.started(2, call(1));
  EXPECT_FALSE(dump().contains("waiting"));
  EXPECT_FALSE(recorder_.waiting(2, later));
  EXPECT_EQ(dump()["waiting"]["for"], "");
}

TEST_F(Recorded, KeepsTheFirstFailure) {
  recorder_.started(1, call(1));
  recorder_.failed({Code::peer, "rank 2 died"}, 2, 1);
  recorder_.failed({Code::timeout, "later"}, -1, 1);
  const json d = dump();
  EXPECT_EQ(d["error"].dump(),
            R"({"culprit":2,"name":"peer failed","operation":1,"status":-6,"text":"rank 2 died"})");
  EXPECT_EQ(d["operations"][0]["state"], "failed");
}

TEST_F(Recorded, TellsWhoHasArrived) {
  auto board = std::make_unique<Board>();
  for (uint64_t n = 1; n <= 40; n++) board->write(n, call(n));
  recorder_.started(41, call(41));
  EXPECT_EQ(dump()["arrived"].dump(), R"([{"operation":41,"ranks":[1,1]}])")
      << "nothing is known of the others";
  recorder_.watch(0, board.get());
  recorder_.watch(2, board.get());
  recorder_.started(40, call(40));
  EXPECT_EQ(
      dump()["arrived"].dump(),
      R"([{"operation":40,"ranks":[0,0]},{"operation":41,"ranks":[1,1]},{"operation":40,"ranks":[2,2]}])");
}

TEST_F(Recorded, FilesAreWholeAndForThisUserOnly) {
  (void)dump();
  struct stat info {};
  ASSERT_EQ(stat(recorder_.who().path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1)
      << "a temporary file was left";
  EXPECT_EQ(save_dump(recorder_, Why::call, "/no-such-folder/x"), ENOENT);
  EXPECT_EQ(save_dump(recorder_, Why::call, ("/" + std::string(5000, 'x')).c_str()), ENAMETOOLONG);
}

// ThreadSanitizer looks on; and what is read is whole.
TEST_F(Recorded, IsReadWhileItIsWritten) {
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    int64_t now = 0;
    for (uint64_t n = 1; !stop; n++) {
      recorder_.started(n, call(n));
      recorder_.waiting(n, now);
      if (recorder_.waiting(n, now += Recorder::kLongWaitNs))
        recorder_.waiting_for(std::string(n % 300, 'x'));
      recorder_.finished(n);
    }
  });
  for (int i = 0; i < 200; i++) {
    for (uint64_t latest = recorder_.latest(), n = latest; n > 0 && n + 64 > latest; n--) {
      CallId read;
      if (recorder_.read(n, &read)) {
        ASSERT_EQ(read, call(n));
      }
    }
    ASSERT_TRUE(dump().is_object());
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace plait::runtime
