// Contributions that enter by a step of their own: what becomes of programs, and what is refused.
#include "collectives/entry.h"

#include "unit/collectives/programs.h"

namespace plait::collectives {
namespace {

std::vector<Program> entered_programs(const Algorithm& algorithm, int n, bool in_place) {
  auto programs = programs_of(algorithm, n, in_place);
  for (Program& p : programs) {
    auto made = entered(std::move(p));
    EXPECT_TRUE(made.ok()) << made.status().text();
    if (made.ok()) p = std::move(*made);
  }
  return programs;
}

// Every algorithm that folds is proved again: as many credits, the same order, the same bits everywhere.
TEST(Entry, EveryProgramIsStillProved) {
  for (const Algorithm& algorithm : algorithms()) {
    if (!reduces(algorithm.collective)) continue;
    for (int n = 1; n <= 17; n++) {
      if (!algorithm.accepts(n)) continue;
      for (bool in_place : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << algorithm.name << " " << n << " ranks" << (in_place ? ", in place" : ""));
        auto programs = entered_programs(algorithm, n, in_place);
        Proof proof = prove({algorithm.collective, 0}, programs);
        ASSERT_TRUE(proof.status.ok()) << proof.status.text();
        EXPECT_LE(proof.min_credits, programs[0].min_credits);
        EXPECT_TRUE(proof.rank_order || !algorithm.rank_order);
      }
    }
  }
}

TEST(Entry, EachContributionEntersOnce) {
  for (bool in_place : {false, true}) {
    for (const Program& p : entered_programs(algorithm(Collective::allreduce, "direct"), 5, in_place)) {
      std::vector<int> entries(p.chunks);
      for (const Step& s : p.steps) {
        const bool enters = (s.flags & kEnter) != 0;
        EXPECT_EQ(enters, s.src.in() == Buffer::input || s.src2.in() == Buffer::input) << describe(s);
        if (enters) entries[s.chunk]++;
      }
      EXPECT_EQ(entries, std::vector<int>(p.chunks, 1));
    }
  }
}

TEST(Entry, OfOneRankAlone) {
  const Algorithm& ring = algorithm(Collective::allreduce, "ring");
  EXPECT_EQ(text_of(entered_programs(ring, 1, true)[0]),
            "copy chunk 0+1 from input[0] into output[0], enter\n");
  EXPECT_EQ(text_of(entered_programs(ring, 1, false)[0]),
            "copy chunk 0+1 from input[0] into scratch[0], enter\n"
            "copy chunk 0+1 from scratch[0] into output[0]\n");
}

TEST(Entry, WhatReadsAnotherContributionIsRefused) {
  const Algorithm& ring = algorithm(Collective::allreduce, "ring");
  auto programs = entered_programs(ring, 3, false);
  for (Step& s : programs[1].steps) {
    if (s.op == Op::send && s.src.in() == Buffer::scratch) s.src = place(Buffer::input, s.chunk);
  }
  expect_refused(prove({Collective::allreduce, 0}, programs), {"rank 1", "reads what has not entered"});

  programs = entered_programs(ring, 3, false);
  programs[2].steps[1] = programs[2].steps[0];
  expect_refused(prove({Collective::allreduce, 0}, programs), {"rank 2", "enters not one chunk, once"});

  programs = entered_programs(ring, 3, false);
  for (Step& s : programs[0].steps) {
    if (folds(s.op)) s.flags |= kEnter;
  }
  expect_refused(prove({Collective::allreduce, 0}, programs), {"rank 0", "only a copy from the input"});
}

// What the table says of rounding is what programs do: one chain a chunk, which is the last fold.
TEST(Algorithms, RoundOnceWhereTheTableSaysSo) {
  for (const Algorithm& algorithm : algorithms()) {
    if (!reduces(algorithm.collective)) continue;
    bool once = true;
    for (int n : {2, 3, 8, 9, 16}) {
      if (!algorithm.accepts(n)) continue;
      for (const Program& p : programs_of(algorithm, n, false)) {
        for (const Step& s : p.steps) once = once && (!folds(s.op) || (s.flags & (kChain | kLast)) != 0);
      }
    }
    EXPECT_EQ(once, algorithm.deterministic) << algorithm.name << " " << name_of(algorithm.collective);
  }
}

}  // namespace
}  // namespace plait::collectives
