// plait-sim as its users meet it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "support/command.h"

namespace plait::test {
namespace {

Outcome plait_sim(std::vector<std::string> words) {
  words.insert(words.begin(), required("PLAIT_SIM"));
  return run({words, {}, {}, {}});
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class PlaitSim : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { run({{"rm", "-r", folder_}, {}, {}, {}}); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string folder_ = testing::TempDir() + "plait-sim.XXXXXX";
};

TEST_F(PlaitSim, HelpFitsAScreenAndShowsExamples) {
  const Outcome o = plait_sim({"--help"});
  expect_help(o, "plait-sim", 4);
  EXPECT_EQ(plait_sim({"--version"}).out.substr(0, 10), "plait-sim ");
}

TEST_F(PlaitSim, WrongUses) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> uses = {
      {{}, "which collective? One of allreduce"},
      {{"gossip"}, "there is no collective 'gossip'"},
      {{"allreduce"}, "which room?"},
      {{"allreduce", "--room", "cube 8"}, "--room:1: not understood: 'cube'"},
      {{"allreduce", "--room", "ring 8"}, "say -A WAY"},
      {{"allreduce", "--room", "ring 8", "-A", "ring", "--all"}, "say -A WAY"},
      {{"allreduce", "--room", "ring 8", "-A", "lap"}, "there is no allreduce 'lap'; there are ring"},
      {{"allreduce", "--room", "ring 6", "-A", "swing"}, "has no programs for 6 ranks"},
      {{"allreduce", "--room", "ring 6", "-A", "ring/ring"}, "names 2 levels, the room has 1"},
      {{"allreduce", "--room", "ring 8", "-A", "ring", "-n", "9"}, "there are 8 places"},
      {{"allreduce", "--room", "4 hosts x 8 chips", "-A", "ring"}, "nothing joins 0 and 8"},
      {{"allreduce", "--room", "ring 8", "-A", "ring", "--chips", "0,8"}, "there is no place 8"},
      {{"allreduce", "--room", "ring 8", "-A", "ring", "--chips", "soon"}, "--chips 'soon': say"},
      {{"allreduce", "--room", "mesh 3x3", "-A", "ring@links"}, "no ring visits all 9 chips"},
      {{"allreduce", "--room", "ring 8", "-A", "ring", "--size", "huge"}, "a number is expected"},
      {{"allreduce", "--room", "ring 8", "-A", "ring", "--what-if", "burn it"}, "--what-if 'burn it': say"},
      {{"allreduce", "--room", "ring 8", "--all", "--json", "x"}, "are of one way"},
      {{"allreduce", "--room", "ring 8", "-A", "ring", "--parameters", "/nowhere"},
       "/nowhere cannot be read"},
      {{"allreduce", "--room", "ring 8", "-A", "ring", "--jitter", "-1"}, "jitter"},
      {{"allreduce", "--room", "ring 65536", "-A", "ring"}, "8.6e+09 messages"},
      {{"allreduce", "--room", "ring 8", "-A", "ring", "--json", "/nowhere/x"}, "/nowhere/x"},
      {{"--calibrate", "/nowhere", "--room", "full 2"}, "/nowhere"},
      {{"allreduce", "--calibrate", "rows", "--room", "full 2"}, "not of one allreduce"},
      {{"--calibrate", "rows", "--compare", "rows", "--room", "full 2"}, "not both"},
      {{"allreduce", "--room", "ring 8", "-A", "ring", "--write", "x"}, "goes with --calibrate"},
  };
  for (const auto& [words, why] : uses) {
    SCOPED_TRACE(why);
    const Outcome o = plait_sim(words);
    EXPECT_EQ(o.status, 1);
    EXPECT_TRUE(o.err.starts_with("plait-sim: ")) << o.err;
    EXPECT_TRUE(contains(o.err, why)) << o.err;
  }
}

TEST_F(PlaitSim, SaysWhatLimits) {
  const Outcome o =
      plait_sim({"allreduce", "--room", "4 hosts x 8 chips x 1 nics", "--size", "64M", "-A", "ring"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(contains(o.out, "Bandwidth of one place: the link host 0->leaf 0 is busy 100 % of the time"))
      << o.out;
  EXPECT_TRUE(contains(o.out, "over it sends 7 to 8")) << o.out;
}

TEST_F(PlaitSim, WritesWhatOthersRead) {
  const std::string room = write("room.txt", "mesh 4x4 100Gb/s\n");
  const std::vector<std::string> words = {
      "allreduce",    "--room",   room,           "--size", "1M",         "-A",
      "swing",        "--jitter", "0.1",          "--seed", "7",          "--json",
      path("a.json"), "--trace",  path("t.json"), "--svg",  path("p.svg")};
  ASSERT_EQ(plait_sim(words).status, 0);
  const auto json = nlohmann::json::parse(read("a.json"));
  EXPECT_EQ(json["ranks"], 16);
  EXPECT_EQ(json["parameters"]["seed"], 7);
  EXPECT_TRUE(json["finished"]);
  const double n = 16, seconds = json["seconds"];
  EXPECT_NEAR(json["busbw"], 2 * (n - 1) / n * 1048576 / seconds, 1);
  const auto trace = nlohmann::json::parse(read("t.json"));
  EXPECT_GT(trace["traceEvents"].size(), 128u);
  EXPECT_TRUE(read("p.svg").starts_with("<svg"));
  const std::string before = read("a.json");
  ASSERT_EQ(plait_sim(words).status, 0);
  EXPECT_EQ(read("a.json"), before);  // a seed is a run
}

TEST_F(PlaitSim, ComparesAllThatFits) {
  const Outcome o = plait_sim({"allreduce", "--room", "hybrid cube mesh", "--size", "1M", "--all"});
  EXPECT_EQ(o.status, 0) << o.err;
  for (const char* way : {"\nring ", "\nswing ", "\ndirect/ring "}) EXPECT_TRUE(contains(o.out, way)) << way;
  EXPECT_TRUE(contains(o.out, "The fastest is "));
  for (const char* collective :
       {"reduce_scatter", "allgather", "broadcast", "reduce", "gather", "scatter", "alltoall", "barrier"})
    EXPECT_EQ(plait_sim({collective, "--room", "2 hosts x 4 chips x 1 nics", "--all"}).status, 0)
        << collective;
}

TEST_F(PlaitSim, NamesWhoIsDead) {
  const Outcome o =
      plait_sim({"allreduce", "--room", "ring 8", "-A", "ring", "--what-if", "kill rank 3 at 10us"});
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(contains(o.out, "rank 3 is dead\n  rank 4 waits for 3\n")) << o.out;
  const Outcome cut =
      plait_sim({"allreduce", "--room", "ring 8", "-A", "ring", "--what-if", "cut link 3-4 at 1us"});
  EXPECT_TRUE(contains(cut.out, "rank 3 has messages that stand still at 3->4")) << cut.out;
  const Outcome around =
      plait_sim({"allreduce", "--room", "ring 8", "-A", "ring", "--what-if", "cut link 3-4"});
  EXPECT_TRUE(contains(around.out, "busbw")) << around.out;
}

TEST_F(PlaitSim, TakesThePlacesOfASchedulersAnswer) {
  const std::string room = write("pod.txt", "mesh 4x4\ntaken 5\n");
  const Outcome place =
      run({{required("PLAIT_TOPO"), "place", "--chips", "8", "--shape", "ring", room}, {}, {}, {}});
  ASSERT_EQ(place.status, 0) << place.err;
  const auto chips = nlohmann::json::parse(place.out)["chips"];
  const std::string answer = write("place.json", place.out);
  const Outcome o = plait_sim({"allreduce", "--room", room, "--chips", answer, "--size", "1M", "-A", "ring",
                               "--json", path("a.json")});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(contains(o.out, "8 ranks in mesh 4x4; taken 5")) << o.out;
  // The ring runs over the links that were found for it: nobody shares one.
  EXPECT_TRUE(contains(o.out, chips[0].dump() + "->" + chips[1].dump() + ": ")) << o.out;
  EXPECT_TRUE(contains(o.out, "the mean of the 8 links in use")) << o.out;
  const Outcome links =
      plait_sim({"allreduce", "--room", room, "--chips", answer, "-A", "ring", "-A", "ring@links"});
  EXPECT_EQ(links.status, 0) << links.err;
  EXPECT_TRUE(contains(links.out, "\nring@links ")) << links.out;
}

TEST_F(PlaitSim, AllHasTheRingOfLinks) {
  const Outcome o = plait_sim({"allreduce", "--room", "mesh 4x4", "--size", "4M", "--all"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(contains(o.out, "\nring@links ")) << o.out;
}

// Rows as plait-perf writes them, of a link with 10 us and 1 GB/s: what is found foretells them, and can be
// read.
TEST_F(PlaitSim, CalibratesAndCompares) {
  nlohmann::json rows;
  for (int bytes = 8; bytes <= 1 << 20; bytes *= 2)
    rows.push_back({{"collective", "broadcast"},
                    {"ranks", 2},
                    {"root", 0},
                    {"bytes", bytes},
                    {"in_place", true},
                    {"algorithm", "star"},
                    {"time_us_median", 10 + 1e-3 * bytes}});
  const std::string file = write("rows.json", rows.dump());
  Outcome o = plait_sim({"--calibrate", file, "--room", "2 hosts x 1 nics", "--write", path("found")});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(contains(o.out, "9 of 9 within 15 %")) << o.out;
  EXPECT_TRUE(contains(read("found.room"), "2 hosts x 1 nics ")) << read("found.room");
  o = plait_sim({"--compare", file, "--room", path("found.room"), "--parameters", path("found.json")});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(contains(o.out, "18 of 18 within 15 %")) << o.out;
}

}  // namespace
}  // namespace plait::test
