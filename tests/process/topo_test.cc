// plait-topo as its users meet it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/command.h"

namespace plait::test {
namespace {

Outcome plait_topo(std::vector<std::string> words) {
  words.insert(words.begin(), required("PLAIT_TOPO"));
  return run({words, {}, {}, {}});
}

TEST(PlaitTopo, HelpFitsAScreenAndShowsExamples) {
  const Outcome o = plait_topo({"--help"});
  expect_help(o, "plait-topo");
}

TEST(PlaitTopo, WrongUses) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> uses = {
      {{"place", "-r", "ring 8"}, "place needs --chips N"},
      {{"levels", "a", "b"}, "'b' is a word too many"},
      {{"rings", "a", "-r", "ring 8"}, "a FILE and --room: give one"},
      {{"trees", "-r", "ring 8", "--svg", "-"}, "--svg and --dot are for"},
      {{"show", "/nowhere"}, "cannot open /nowhere"},
      {{"rings", "-r", "ring 8;ring 9"}, "--room:2: a second shape of chips"},
      {{"place", "-n", "4", "-s", "star", "-r", "ring 8"}, "shape 'star'"},
  };
  for (const auto& [words, said] : uses) {
    const Outcome o = plait_topo(words);
    EXPECT_EQ(o.status, 1) << said;
    EXPECT_NE(o.err.find(said), std::string::npos) << o.err;
  }
}

TEST(PlaitTopo, PlacesForSchedulers) {
  const Outcome found = plait_topo({"place", "--chips", "8", "--shape", "ring", "-r", "mesh 4x4;taken 5"});
  EXPECT_EQ(found.status, 0);
  const auto json = nlohmann::json::parse(found.out);
  EXPECT_TRUE(json["found"] && json["proven"]);
  EXPECT_EQ(json["chips"].size(), 8u);
  const Outcome none = plait_topo({"place", "--chips", "9", "-r", "mesh 4x4"});
  EXPECT_EQ(none.status, 2);
  EXPECT_FALSE(nlohmann::json::parse(none.out)["why"].get<std::string>().empty());
}

TEST(PlaitTopo, DrawsAndLists) {
  EXPECT_TRUE(plait_topo({"show", "-r", "4 hosts x 2 nics", "--svg", "-"}).out.starts_with("<svg"));
  EXPECT_TRUE(plait_topo({"rings", "-r", "torus 4x4", "--svg", "-"}).out.starts_with("<svg"));
  EXPECT_TRUE(plait_topo({"show", "-r", "full 4", "--dot", "-"}).out.starts_with("graph machine {"));
  const auto json = nlohmann::json::parse(plait_topo({"show", "-r", "full 4", "--json"}).out);
  EXPECT_EQ(json["links"].size(), 6u);
}

TEST(PlaitTopo, ReadsPodsThatRun) {
  const Outcome o = plait_topo({"show", "icl:emu:/dev/shm/no-such-pod"});
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.err.find("emu:/dev/shm/no-such-pod"), std::string::npos) << o.err;
}

}  // namespace
}  // namespace plait::test
