// plait-program as its users meet it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "support/command.h"

namespace plait::test {
namespace {

Outcome plait_program(std::vector<std::string> words) {
  words.insert(words.begin(), required("PLAIT_PROGRAM"));
  return run({words, {}, {}, {}});
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class PlaitProgram : public testing::Test {
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
  std::string folder_ = testing::TempDir() + "plait-program.XXXXXX";
};

// Two ranks swap their chunks.
constexpr const char* kXml = R"(<algo name="swap" ngpus="2" nchunksperloop="2" coll="allgather" inplace="1">
<gpu id="0" i_chunks="1" o_chunks="2" s_chunks="0"><tb id="0" send="1" recv="1" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
</tb></gpu>
<gpu id="1" i_chunks="1" o_chunks="2" s_chunks="0"><tb id="0" send="0" recv="0" chan="0">
<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
<step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
</tb></gpu></algo>
)";

TEST_F(PlaitProgram, HelpFitsAScreenAndShowsExamples) {
  const Outcome o = plait_program({"--help"});
  expect_help(o, "plait-program");
}

TEST_F(PlaitProgram, ShowsWhatACodecMakesOfAnAlgorithm) {
  const Outcome shown = plait_program({"show", "ring", "allreduce", "-n", "3", "--rank", "0", "--encoded"});
  EXPECT_TRUE(contains(shown.out, "encode chunk 2+1 from input[2] into wire[0]")) << shown.out << shown.err;
  EXPECT_TRUE(contains(shown.out, "decode_reduce chunk 1+1")) << shown.out;
  const Outcome proved = plait_program({"prove", "ring", "-n", "5", "--encoded"});
  EXPECT_TRUE(contains(proved.out, "ring allreduce, 5 ranks, in place: proved")) << proved.out << proved.err;
  const Outcome refused = plait_program({"prove", "recursive_doubling", "allreduce", "--encoded"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(contains(refused.err, "so bits may differ")) << refused.err;
  EXPECT_EQ(plait_program({"draw", "ring", "allreduce", "--encoded", "-o", path("ring.svg")}).status, 0);
  EXPECT_TRUE(contains(read("ring.svg"), "dec + "));
  EXPECT_TRUE(
      contains(plait_program({"export", "ring", "allreduce", "--encoded", "-o", "-"}).err, "no codecs"));
  EXPECT_TRUE(
      contains(plait_program({"show", "pairwise", "alltoall", "--encoded"}).err, "no codec goes with it"));
}

TEST_F(PlaitProgram, SaysItsVersion) {
  EXPECT_EQ(plait_program({"--version"}).out.substr(0, 14), "plait-program ");
}

TEST_F(PlaitProgram, WrongUses) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> uses = {
      {{}, "no command given"},
      {{"sing"}, "there is no command 'sing'"},
      {{"show"}, "show needs a file, or an algorithm and a collective"},
      {{"list", "allreduce", "ring"}, "'ring' is a word too many"},
      {{"list", "gossip"}, "there is no collective 'gossip'"},
      {{"prove", "lap"}, "there is no algorithm 'lap', and no such file; there are ring"},
      {{"prove", "ring", "barrier"}, "there is no algorithm 'ring' for barrier"},
      {{"show", "ring", "gossip"}, "there is no collective 'gossip'"},
      {{"show", "ring"}, "ring can do several collectives: name one of allreduce"},
      {{"show", "ring", "allreduce", "-n", "0"}, "--ranks: Value 0 not in range"},
      {{"show", "ring", "allreduce", "-n", "x"}, "--ranks: Value x not in range"},
      {{"show", "ring", "allreduce", "--rank", "4"}, "--rank 4: there are ranks 0 to 3"},
      {{"prove", "star", "broadcast", "--root", "4"}, "--root 4: there are ranks 0 to 3"},
      {{"prove", "ring", "--rank", "0"}, "--rank is for show"},
      {{"prove", "ring", "--name", "x"}, "--name is for export and convert"},
      {{"prove", "ring", "-o", "x"}, "prove writes no file"},
      {{"draw", "ring", "allreduce"}, "draw needs -o FILE"},
      {{"draw", "ring", "allreduce", "-o", "/nowhere/at.svg"}, "cannot write /nowhere/at.svg"},
      {{"draw", "star", "broadcast", "-n", "100", "-o", path("x.svg")}, "too much for a picture"},
      {{"prove", "nowhere.json"}, "cannot open nowhere.json"},
      {{"prove", path("")}, "is a folder"},
      {{"convert", "ring", "-o", path("x.json")}, "there is no file ring to convert"},
      {{"prove", "--fast", "ring"}, "--fast"},
  };
  for (const auto& [words, why] : uses) {
    SCOPED_TRACE(why);
    const Outcome o = plait_program(words);
    EXPECT_EQ(o.status, 1);
    EXPECT_EQ(o.out, "");
    EXPECT_TRUE(o.err.starts_with("plait-program: ")) << o.err;
    EXPECT_TRUE(contains(o.err, why)) << o.err;
  }
  EXPECT_NE(::access(path("x.svg").c_str(), F_OK), 0);
}

TEST_F(PlaitProgram, ListsAlgorithms) {
  const Outcome all = plait_program({"list"}), some = plait_program({"list", "allreduce"});
  EXPECT_EQ(all.status + some.status, 0);
  EXPECT_TRUE(contains(all.out, "dissemination"));
  for (const std::string& line : lines(some.out)) EXPECT_TRUE(line.starts_with("allreduce ")) << line;
  EXPECT_GE(lines(some.out).size(), 3u);
}

TEST_F(PlaitProgram, ShowsSteps) {
  const Outcome o = plait_program({"show", "ring", "allreduce", "-n", "3", "--rank", "0"});
  EXPECT_EQ(o.status, 0) << o.err;
  const auto all = lines(o.out);
  ASSERT_EQ(all.size(), 10u) << o.out;
  EXPECT_EQ(all[0], "ring allreduce, 3 ranks, out of place");
  EXPECT_EQ(all[2], "   0  send chunk 2+1 from input[2] to rank 1 lane 0");
  EXPECT_TRUE(all[9].ends_with("waits for 2")) << all[9];
  EXPECT_TRUE(contains(plait_program({"show", "ring", "allreduce", "-n", "2", "--in-place"}).out,
                       "2 ranks, in place"));
}

TEST_F(PlaitProgram, Proves) {
  const Outcome o = plait_program({"prove", "direct", "allreduce", "-n", "5"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(contains(o.out, "direct allreduce, 5 ranks, out of place: proved; ")) << o.out;
  EXPECT_TRUE(contains(o.out, "direct allreduce, 5 ranks, in place: proved; ")) << o.out;
  const Outcome every = plait_program({"prove", "ring"});
  EXPECT_TRUE(contains(every.out, "ring allgather")) << every.out;
}

TEST_F(PlaitProgram, RefusesWhatIsNotProved) {
  std::string text = kXml;
  const size_t step = text.rfind("type=\"r\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\"");
  ASSERT_NE(step, std::string::npos);
  text.replace(text.find("dstoff=\"0\"", step), 10, "dstoff=\"1\"");  // over its own chunk
  const Outcome o = plait_program({"prove", write("wrong.xml", text)});
  EXPECT_EQ(o.status, 1);
  EXPECT_TRUE(contains(o.err, "not proved: " + path("wrong.xml"))) << o.err;
  EXPECT_EQ(o.out, "");
}

TEST_F(PlaitProgram, ConvertsDrawsAndTraces) {
  const std::string xml = write("swap.xml", kXml);
  Outcome o = plait_program({"convert", xml, "-o", path("swap.json")});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(nlohmann::json::parse(read("swap.json"))["name"], "swap");
  o = plait_program({"convert", path("swap.json"), "-o", "-"});
  EXPECT_EQ(o.out, read("swap.json"));
  EXPECT_TRUE(
      contains(plait_program({"prove", path("swap.json")}).out, "swap allgather, 2 ranks, in place: proved"));
  // The only variant that there is.
  EXPECT_TRUE(contains(plait_program({"show", path("swap.json")}).out, "2 ranks, in place"));
  EXPECT_EQ(plait_program({"draw", xml, "-o", path("swap.svg")}).status, 0);
  EXPECT_TRUE(contains(read("swap.svg"), "swap allgather"));
  EXPECT_EQ(plait_program({"trace", xml, "-o", path("trace.json")}).status, 0);
  EXPECT_FALSE(nlohmann::json::parse(read("trace.json"))["traceEvents"].empty());
}

TEST_F(PlaitProgram, NamesWhatItWrites) {
  const Outcome o = plait_program(
      {"export", "ring", "allreduce", "-n", "3", "--name", "my \"ring\"", "-o", path("ring.json")});
  ASSERT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(nlohmann::json::parse(read("ring.json"))["name"], "my \"ring\"");
  EXPECT_EQ(plait_program({"prove", path("ring.json")}).status, 0);
}

TEST_F(PlaitProgram, ExportsWhatItReadsAgain) {
  EXPECT_EQ(plait_program({"export", "ring", "allreduce", "-n", "3", "-o", path("ring.json")}).status, 0);
  EXPECT_EQ(plait_program({"export", path("ring.json"), "-o", path("again.json")}).status, 0);
  EXPECT_EQ(read("ring.json"), read("again.json"));
  std::string text = read("ring.json");
  text.replace(text.find("\"peer\": 1"), 9, "\"peer\": 7");
  const Outcome o = plait_program({"prove", write("wrong.json", text)});
  EXPECT_EQ(o.status, 1);
  EXPECT_TRUE(contains(o.err, path("wrong.json") + ":6: step 0 of rank 0: peer 7: there are 3 ranks"))
      << o.err;
}

}  // namespace
}  // namespace plait::test
