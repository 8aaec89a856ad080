#include "collectives/scratch.h"

#include "unit/collectives/programs.h"

namespace plait::collectives {
namespace {

uint32_t most_scratch(Collective collective, std::string_view name, int n, bool in_place) {
  uint32_t most = 0;
  for (const Program& p : programs_of(algorithm(collective, name), n, in_place))
    most = std::max(most, p.scratch);
  return most;
}

TEST(Scratch, IsCompact) {
  for (int n : {2, 3, 8, 100}) {
    auto others = uint32_t(n - 1);
    for (bool in_place : {false, true}) {
      EXPECT_EQ(most_scratch(Collective::allreduce, "ring", n, in_place), 0u);
      // A sum on its way around the ring: one comes, one goes, one is spare.
      EXPECT_LE(most_scratch(Collective::reduce_scatter, "ring", n, in_place), 3u);
      EXPECT_EQ(most_scratch(Collective::allgather, "ring", n, in_place), 0u);
      EXPECT_EQ(most_scratch(Collective::allgather, "direct", n, in_place), 0u);
      EXPECT_EQ(most_scratch(Collective::broadcast, "star", n, in_place), 0u);
      EXPECT_LE(most_scratch(Collective::barrier, "dissemination", n, in_place), 3u);
      // One for each other rank's value; a partial sum lies where an operand was, or for rank 0 and the last
      // apart.
      EXPECT_LE(most_scratch(Collective::allreduce, "direct", n, in_place), others + 1);
      EXPECT_LE(most_scratch(Collective::reduce_scatter, "direct", n, in_place), others + 1);
      EXPECT_LE(most_scratch(Collective::allreduce, "all_to_all", n, in_place), others + 1);
    }
  }
}

Step local(Op op, Place dst, Place src, Place src2 = kNowhere, uint32_t count = 1) {
  return {.op = op, .dst = dst, .src = src, .src2 = src2, .chunk = 0, .count = count};
}
Step remote(Op op, Place at, uint8_t flags = 0, uint32_t count = 1) {
  bool send = op == Op::send;
  return {.op = op,
          .flags = flags,
          .peer = 1,
          .dst = send ? kNowhere : at,
          .src = send ? at : kNowhere,
          .chunk = 0,
          .count = count};
}
constexpr Place scratch(uint32_t slot) { return place(Buffer::scratch, slot); }
constexpr Place kOut = place(Buffer::output, 0);

TEST(Scratch, NothingForNobody) {
  std::vector<Step> steps{local(Op::copy, kOut, place(Buffer::input, 0))};
  EXPECT_EQ(allot_scratch(steps, {}), 0u);
}

TEST(Scratch, ValuesThatLiveTogetherLieApart) {
  std::vector<Step> steps{remote(Op::recv, scratch(0)), remote(Op::recv, scratch(2)),
                          local(Op::reduce, kOut, scratch(0), scratch(2))};
  std::vector<Range> blocks{{0, 1}, {2, 1}};
  EXPECT_EQ(allot_scratch(steps, blocks), 2u);
  EXPECT_NE(steps[0].dst, steps[1].dst);
  EXPECT_EQ(steps[2].src, steps[0].dst);
  EXPECT_EQ(steps[2].src2, steps[1].dst);
}

TEST(Scratch, OneSlotStaysSpare) {
  std::vector<Step> steps;
  std::vector<Range> blocks;
  for (uint32_t i = 0; i < 10; i++) {
    blocks.push_back({2 * i, 1});
    steps.push_back(remote(Op::recv, scratch(2 * i)));
    steps.push_back(remote(Op::send, scratch(2 * i)));
  }
  EXPECT_EQ(allot_scratch(steps, blocks), 2u);
  for (size_t i = 2; i < steps.size(); i += 2) EXPECT_NE(steps[i].dst, steps[i - 2].dst);
}

TEST(Scratch, NothingIsReusedInsideAMessage) {
  std::vector<Step> steps;
  std::vector<Range> blocks;
  for (uint32_t i = 0; i < 4; i++) {
    blocks.push_back({2 * i, 1});
    steps.push_back(remote(Op::recv, scratch(2 * i), i < 3 ? kMore : 0));
  }
  EXPECT_EQ(allot_scratch(steps, blocks), 4u);
}

TEST(Scratch, AFoldTakesOverItsOnlyOperand) {
  std::vector<Step> steps{remote(Op::recv, scratch(0)),
                          local(Op::reduce, scratch(2), place(Buffer::input, 0), scratch(0)),
                          local(Op::copy, kOut, scratch(2))};
  std::vector<Range> blocks{{0, 1}, {2, 1}};
  EXPECT_EQ(allot_scratch(steps, blocks), 1u);
}

TEST(Scratch, ButNotOneThatIsStillSent) {
  std::vector<Step> steps{remote(Op::recv, scratch(0)), remote(Op::send, scratch(0)),
                          local(Op::reduce, scratch(2), place(Buffer::input, 0), scratch(0)),
                          local(Op::copy, kOut, scratch(2))};
  std::vector<Range> blocks{{0, 1}, {2, 1}};
  EXPECT_EQ(allot_scratch(steps, blocks), 2u);
}

TEST(Scratch, BlocksStayContiguous) {
  std::vector<Step> steps{remote(Op::recv, scratch(0), 0, 3), remote(Op::recv, scratch(4)),
                          remote(Op::send, scratch(1), 0, 2), remote(Op::send, scratch(4))};
  std::vector<Range> blocks{{0, 3}, {4, 1}};
  EXPECT_EQ(allot_scratch(steps, blocks), 4u);
  EXPECT_EQ(steps[2].src.slot, steps[0].dst.slot + 1u);
  EXPECT_EQ(steps[3].src, steps[1].dst);
}

// What an algorithm sends of an earlier one's is no room for what it receives, however much of it has gone.
TEST(Scratch, AStageDoesNotReuseWhatEarlierOnesLeftToSend) {
  auto steps = [] {
    std::vector<Step> list;
    for (uint32_t i = 0; i < 3; i++) list.push_back(remote(Op::recv, scratch(2 * i)));
    for (uint32_t i = 0; i < 3; i++) list.push_back(remote(Op::send, scratch(2 * i)));
    for (uint32_t i = 3; i < 5; i++) list.push_back(remote(Op::recv, scratch(2 * i)));
    list.push_back(local(Op::reduce, kOut, scratch(6), scratch(8)));
    list.push_back(remote(Op::recv, scratch(10)));
    list.push_back(remote(Op::send, scratch(10)));
    return list;
  };
  std::vector<Range> blocks;
  for (uint32_t i = 0; i < 6; i++) blocks.push_back({2 * i, 1});
  std::vector<Step> one = steps(), two = steps(), three = steps();
  EXPECT_EQ(allot_scratch(one, blocks), 3u);
  const uint32_t begins[] = {0, 3};
  EXPECT_EQ(allot_scratch(two, blocks, begins), 6u);
  // The one after takes them.
  const uint32_t begin_again[] = {0, 3, 9};
  EXPECT_EQ(allot_scratch(three, blocks, begin_again), 5u);
  EXPECT_LT(three[9].dst.slot, 5u);
}

}  // namespace
}  // namespace plait::collectives
