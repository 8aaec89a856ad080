// What the two sides tell each other: it comes back as it was, and nothing else is taken.
#include "perf/pair/words.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace plait::perf::pair {
namespace {

Hello some_hello() {
  Options o;
  o.tool = {Operation::read, Measure::bandwidth};
  o.sizes = {4096};
  o.iterations = 100;
  return hello_of(o, "tcp", "tcp:eth0");
}

TEST(PairWords, HelloComesBack) {
  Hello back;
  const Hello hello = some_hello();
  ASSERT_TRUE(decode(encode(hello), back));
  EXPECT_EQ(encode(back), encode(hello));
  EXPECT_EQ(difference(hello, back, "the server"), "");
}

TEST(PairWords, EveryOptionThatDiffersIsNamed) {
  const Hello mine = some_hello();
  const std::pair<const char*, void (*)(Hello&)> changes[] = {
      {"-s is 4096 here and 5 at the server", [](Hello& h) { h.size = 5; }},
      {"-n is 100 here and 7 at the server", [](Hello& h) { h.iterations = 7; }},
      {"the tool is plait_read_bw here and plait_read_lat at",
       [](Hello& h) { h.tool.measure = Measure::latency; }},
      {"the transport (-d) is tcp here and shm at", [](Hello& h) { h.fabric = "shm"; }},
      {"-a is not given here and given at", [](Hello& h) { h.all = true; }},
      {"-D is 0 here and 3 at", [](Hello& h) { h.seconds = 3; }},
      {"-q is 1 here and 2 at", [](Hello& h) { h.qps = 2; }},
      {"-t is 128 here and 9 at", [](Hello& h) { h.depth = 9; }},
      {"-b is not given here and given at", [](Hello& h) { h.bidirectional = true; }},
      {"--run_infinitely is not given", [](Hello& h) { h.infinite = true; }},
      {"--data_validation is not given", [](Hello& h) { h.validate = true; }},
      {"--reversed is not given", [](Hello& h) { h.reversed = true; }},
      {"--perform_warm_up is not given", [](Hello& h) { h.warm_up = true; }},
      {"-R is not given", [](Hello& h) { h.rdma_cm = true; }},
      {"another version", [](Hello& h) { h.version = 2; }},
  };
  for (const auto& [part, change] : changes) {
    Hello theirs = mine;
    change(theirs);
    const std::string said = difference(mine, theirs, "the server");
    EXPECT_NE(said.find(part), said.npos) << said;
    EXPECT_EQ(said.find(';'), said.npos) << "one option, one part: " << said;
  }
}

TEST(PairWords, AnotherVersionIsTakenForWhatItIs) {
  Hello hello = some_hello(), back;
  hello.version = 9;
  Bytes bytes = encode(hello);
  bytes.resize(20);
  ASSERT_TRUE(decode(bytes, back));
  EXPECT_NE(difference(some_hello(), back, "the client").find("another version"), std::string::npos);
}

TEST(PairWords, WhatIsCutOrLongerIsNoHello) {
  const Bytes whole = encode(some_hello());
  Hello back;
  for (size_t n = 0; n < whole.size(); n++) EXPECT_FALSE(decode(ByteView(whole).first(n), back)) << n;
  Bytes more = whole;
  more.push_back({});
  EXPECT_FALSE(decode(more, back));
}

TEST(PairWords, NumbersOutOfRangeAreNoHello) {
  Hello back;
  void (*const changes[])(Hello&) = {
      [](Hello& h) { h.size = 0; },       [](Hello& h) { h.size = kMostBytes + 1; },
      [](Hello& h) { h.iterations = 0; }, [](Hello& h) { h.iterations = kMostIterations + 1; },
      [](Hello& h) { h.qps = 0; },        [](Hello& h) { h.qps = kMostQps + 1; },
      [](Hello& h) { h.depth = 0; },      [](Hello& h) { h.depth = 5000; }};
  for (const auto& change : changes) {
    Hello hello = some_hello();
    change(hello);
    EXPECT_FALSE(decode(encode(hello), back));
  }
}

TEST(PairWords, NamesAreFitToBeShown) {
  Hello hello = some_hello(), back;
  hello.host = "a\033[2J\nb";
  ASSERT_TRUE(decode(encode(hello), back));
  EXPECT_EQ(back.host, "a?[2J?b");
}

TEST(PairWords, RowsComeBackAndNonsenseDoesNot) {
  Row row;
  row.bytes = 8;
  row.wrong = 3;
  row.bandwidth.peak_Bps = 1e9;
  row.latency.p999 = 2.5;
  Row back;
  ASSERT_TRUE(decode(encode(row), back));
  EXPECT_EQ(encode(back), encode(row));
  for (const double bad :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    row.latency.p99 = bad;
    EXPECT_FALSE(decode(encode(row), back)) << bad;
  }
}

TEST(PairWords, BlocksAreBounded) {
  const std::vector<Bytes> blocks = {Bytes(3), Bytes(), Bytes(100)};
  EXPECT_EQ(decode_blocks(encode_blocks(blocks)), blocks);
  EXPECT_FALSE(decode_blocks(encode_blocks(std::vector<Bytes>(9))));
  EXPECT_FALSE(decode_blocks(encode_blocks({Bytes(5000)})));
  Bytes liar;
  append(liar, uint32_t(4000));
  EXPECT_FALSE(decode_blocks(liar));
}

TEST(PairWords, KindsThatAreNoneAreRefused) {
  for (const uint32_t kind : {0u, uint32_t(Kind::failed) + 1, ~0u}) {
    Bytes bytes;
    append(bytes, kind);
    ByteView view(bytes);
    EXPECT_FALSE(take_kind(view));
  }
}

TEST(PairWords, RandomBytesHarmNothing) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  for (int i = 0; i < 20000; i++) {
    Bytes bytes = encode(some_hello());
    for (int k = 0; k < 4; k++) bytes[random() % bytes.size()] = std::byte(random());
    bytes.resize(random() % (bytes.size() + 1));
    Hello hello;
    if (decode(bytes, hello) && hello.version == kWordsVersion) {
      EXPECT_LE(hello.size, kMostBytes) << "seed " << seed;
    }
    (void)decode_blocks(bytes);
  }
}

}  // namespace
}  // namespace plait::perf::pair
