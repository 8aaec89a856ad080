#include "collectives/builder.h"

#include "collectives/algorithm/direct.h"
#include "unit/collectives/programs.h"

namespace plait::collectives {
namespace {

constexpr Range kAll{0, 4};

Program finish(Builder& b, bool in_place = false) {
  auto program = b.finish(in_place);
  EXPECT_TRUE(program.ok()) << program.status().text();
  return program.ok() ? std::move(*program) : Program{};
}

TEST(Group, WrapsAround) {
  Group g{.base = 2, .stride = 3, .count = 4, .me = 1};
  EXPECT_EQ(g.at(0), 2);
  EXPECT_EQ(g.at(g.me + 1), 8);
  EXPECT_EQ(g.at(4), 2);
  EXPECT_EQ(g.at(-1), 11);
  EXPECT_EQ(mod(-5, 3), 1);
}

TEST(Group, PartsCoverTheRange) {
  for (uint32_t count : {0u, 1u, 5u, 8u, 4'000'000'000u}) {
    for (int parts : {1, 3, 7, 65536}) {
      Blocks blocks = split({7, count}, parts);
      uint32_t next = 7;
      for (int i = 0; i < parts; i++) {
        Ranges mine = blocks[i];
        for (Range block : mine.list()) {
          EXPECT_EQ(block.first, next);
          EXPECT_LE(block.count, count / uint32_t(parts) + 1);
          next = block.end();
        }
      }
      EXPECT_EQ(next, 7 + count);
      Ranges last = blocks[-1], same = blocks[parts - 1];
      EXPECT_TRUE(std::ranges::equal(last.list(), same.list()));
    }
  }
}

TEST(Builder, ReadsInputUntilItWritesOutput) {
  Builder b(0, 4, kAll, kAll);
  b.send(1, kAll);
  b.recv_reduce(1, {1, 2});
  b.send(1, kAll);
  b.recv(1, {0, 1});
  EXPECT_EQ(text_of(finish(b)),
            "send chunk 0+4 from input[0] to rank 1 lane 0\n"
            "recv_reduce chunk 1+2 from rank 1 lane 0 with input[1] into output[1]\n"
            "send chunk 0+1 from input[0] to rank 1 lane 0, more\n"
            "send chunk 1+2 from output[1] to rank 1 lane 0, more\n"
            "send chunk 3+1 from input[3] to rank 1 lane 0\n"
            "recv chunk 0+1 from rank 1 lane 0 into output[0]\n"
            "copy chunk 3+1 from input[3] into output[3]\n");
}

// Out of place nothing is sent from where a chunk belongs; in place the receive may not wait for that.
TEST(Builder, ReceivesApartInPlaceOnly) {
  for (bool in_place : {false, true}) {
    Builder b(0, 4, kAll, kAll);
    b.send(1, kAll);
    b.recv_apart(1, {1, 2});
    b.send(1, {0, 4});
    Program p = finish(b, in_place);
    EXPECT_EQ(text_of(p), in_place ? "send chunk 0+4 from input[0] to rank 1 lane 0\n"
                                     "recv chunk 1+2 from rank 1 lane 0 into scratch[0]\n"
                                     "copy chunk 1+2 from scratch[0] into output[1]\n"
                                     "send chunk 0+1 from input[0] to rank 1 lane 0, more\n"
                                     "send chunk 1+2 from output[1] to rank 1 lane 0, more\n"
                                     "send chunk 3+1 from input[3] to rank 1 lane 0\n"
                                   : "send chunk 0+4 from input[0] to rank 1 lane 0\n"
                                     "recv chunk 1+2 from rank 1 lane 0 into output[1]\n"
                                     "send chunk 0+1 from input[0] to rank 1 lane 0, more\n"
                                     "send chunk 1+2 from output[1] to rank 1 lane 0, more\n"
                                     "send chunk 3+1 from input[3] to rank 1 lane 0\n"
                                     "copy chunk 0+1 from input[0] into output[0]\n"
                                     "copy chunk 3+1 from input[3] into output[3]\n");
    EXPECT_EQ(p.scratch, in_place ? 2u : 0u);
  }
}

TEST(Builder, InPlaceCopiesNothing) {
  Builder b(0, 4, kAll, kAll);
  Program p = finish(b, true);
  EXPECT_TRUE(p.steps.empty());
  EXPECT_TRUE(p.in_place);
  EXPECT_EQ(p.dep_begin, std::vector<uint32_t>{0});
}

TEST(Builder, CopiesWhatWasNeverWrittenInOneStep) {
  Builder b(0, 4, kAll, kAll);
  EXPECT_EQ(text_of(finish(b)), "copy chunk 0+4 from input[0] into output[0]\n");
}

TEST(Builder, ResultsWithoutOutputLieInScratch) {
  Builder b(0, 4, kAll, {3, 1});
  b.recv_reduce(1, {0, 2});
  b.recv_reduce(1, {0, 2});  // where it lies already
  b.send(1, {0, 1});
  Program p = finish(b);
  EXPECT_EQ(p.scratch, 2u);
  EXPECT_EQ(text_of(p),
            "recv_reduce chunk 0+2 from rank 1 lane 0 with input[0] into scratch[0]\n"
            "recv_reduce chunk 0+2 from rank 1 lane 0 with scratch[0] into scratch[0]\n"
            "send chunk 0+1 from scratch[0] to rank 1 lane 0\n"
            "copy chunk 3+1 from input[3] into output[3]\n");
}

TEST(Builder, ListsAreOneMessage) {
  Builder b(0, 4, kAll, kAll);
  Ranges list;
  for (Range range : {Range{3, 1}, {0, 0}, {0, 1}, {1, 1}, {2, 0}}) list.add(range);
  b.send(1, list, 2);
  b.recv_reduce(1, list, 2);
  b.recv(1, list, 2);
  Program p = finish(b, true);
  ASSERT_EQ(p.steps.size(), 6u);
  for (uint32_t i = 0; i < 6; i++) EXPECT_EQ(p.steps[i].flags, i % 2 ? 0 : kMore) << describe(p, i);
}

TEST(Builder, EmptyRangesAreNoMessages) {
  Builder b(0, 4, kAll, kAll);
  b.send(1, {4, 0});
  b.recv(1, {2, 0});
  b.recv_reduce(1, Ranges());
  EXPECT_EQ(b.recv_aside(1, {2, 0}), kNowhere);
  EXPECT_TRUE(finish(b, true).steps.empty());
}

TEST(Builder, RefusesWhatARankDoesNotHold) {
  Builder b(3, 4, {1, 1}, kAll);
  b.send(0, {1, 2});
  b.send(0, {7, 1});
  auto program = b.finish(false);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().text(), "rank 3 step 0: send of chunk 2, which this rank does not hold");
}

TEST(Builder, RefusesChunksThatDoNotExist) {
  Builder b(3, 4, kAll, kAll);
  b.recv(0, {3, 2});
  auto program = b.finish(false);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().text(), "rank 3: no chunk 4");
}

TEST(Builder, AsideLeavesTheSentValueAlone) {
  Builder b(0, 1, {0, 1}, {0, 1});
  for (int d : {1, 2}) {
    b.send(d, {0, 1});
    b.recv_reduce_aside(d, {0, 1});
  }
  Program p = finish(b, true);
  for (const Step& s : p.steps) {
    EXPECT_TRUE(s.op != Op::recv_reduce || s.src != s.dst) << describe(s);
  }
  EXPECT_EQ(p.steps.back().op, Op::copy);  // home in the end
}

TEST(Builder, ChainInPieces) {
  Builder b(0, 2, {0, 2}, {0, 2});
  b.recv_reduce(1, {1, 1});  // chunk 0 now lies in input, chunk 1 in output
  std::vector<Place> operands{kNowhere, b.recv_aside(1, {0, 2}, 0, kChain),
                              b.recv_aside(2, {0, 2}, 0, kChain)};
  b.fold_chain({0, 2}, operands, kLast);
  Program p = finish(b);
  EXPECT_EQ(text_of(p),
            "recv_reduce chunk 1+1 from rank 1 lane 0 with input[1] into output[1]\n"
            "recv chunk 0+1 from rank 1 lane 0 into scratch[0], more, chain\n"
            "recv chunk 1+1 from rank 1 lane 0 into scratch[1], chain\n"
            "recv chunk 0+1 from rank 2 lane 0 into scratch[2], more, chain\n"
            "recv chunk 1+1 from rank 2 lane 0 into scratch[3], chain\n"
            "reduce chunk 0+1 of input[0] and scratch[0] into scratch[4], chain\n"
            "reduce chunk 0+1 of scratch[4] and scratch[2] into output[0], last\n"
            "reduce chunk 1+1 of output[1] and scratch[1] into scratch[5], chain\n"
            "reduce chunk 1+1 of scratch[5] and scratch[3] into output[1], last\n");
}

TEST(Builder, StepsGrowWithTheAlgorithmNotWithTheGroup) {
  // A hierarchy asks a rank of 100,000 for the few steps that are its own.
  Builder b(77'777, 1, {0, 1}, {0, 1});
  Group row{.base = 77'770, .stride = 1, .count = 10, .me = 7};
  direct_allreduce(b, row, {0, 1});
  EXPECT_LT(finish(b).steps.size(), 10u);
}

}  // namespace
}  // namespace plait::collectives
