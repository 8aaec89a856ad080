// Which programs run as one round: those whose sends wait for nothing, and no others.
#include "collectives/machine/real/schedule.h"

#include <gtest/gtest.h>

#include "collectives/algorithms.h"
#include "collectives/entry.h"
#include "collectives/plan.h"

namespace plait::collectives::real {
namespace {

Schedule lowered(Collective collective, const char* name, int ranks, int rank, bool in_place) {
  auto schedule = lower(find_algorithm(collective, name)->build(ranks, rank, 0, in_place), {});
  EXPECT_TRUE(schedule.ok()) << schedule.status().text();
  return std::move(schedule).value();
}

TEST(Schedule, OneRoundIsEveryActionOnceAndSendsFirst) {
  for (bool in_place : {false, true}) {
    for (auto [collective, name] : {std::pair(Collective::allreduce, "all_to_all"),
                                    {Collective::reduce_scatter, "direct"},
                                    {Collective::allgather, "direct"},
                                    {Collective::broadcast, "star"}}) {
      for (int rank : {0, 3}) {
        const Schedule s = lowered(collective, name, 4, rank, in_place);
        ASSERT_EQ(s.round.size(), s.actions.size()) << name;
        std::vector<bool> seen(s.actions.size());
        bool sending = true;
        for (uint32_t i : s.round) {
          EXPECT_FALSE(seen[i]);
          seen[i] = true;
          sending = sending && s.actions[i].kind == Kind::send;
          EXPECT_EQ(s.actions[i].kind == Kind::send, sending) << name << ": a send after a fold";
        }
      }
    }
  }
}

TEST(Schedule, WhereASendWaitsThereIsMoreThanOneRound) {
  EXPECT_TRUE(lowered(Collective::allreduce, "direct", 4, 1, false).round.empty());
  EXPECT_TRUE(lowered(Collective::allreduce, "ring", 4, 1, false).round.empty());
  EXPECT_TRUE(lowered(Collective::allgather, "ring", 4, 1, true).round.empty());
  EXPECT_TRUE(lowered(Collective::barrier, "dissemination", 4, 1, false).round.empty());
}

TEST(Schedule, OneSendMayMakeTheCopyOfWhatItSends) {
  const auto alongs = [](const char* name, int ranks, bool in_place) {
    const Schedule s = lowered(Collective::allgather, name, ranks, 1, in_place);
    int count = 0;
    for (const Action& a : s.actions) {
      if (a.along == kNoAction) continue;
      count++;
      const Action& copy = s.actions.at(a.along);
      EXPECT_EQ(a.kind, Kind::send);
      EXPECT_EQ(copy.kind, Kind::copy);
      EXPECT_EQ(s.sources[copy.first_source].place, s.sources[a.first_source].place);
      EXPECT_EQ(copy.chunk, a.chunk);
    }
    return count;
  };
  EXPECT_EQ(alongs("ring", 2, false), 1);
  EXPECT_EQ(alongs("ring", 5, false), 1);
  EXPECT_EQ(alongs("ring", 2, true), 0);
  EXPECT_EQ(alongs("direct", 2, false), 1);
  EXPECT_EQ(alongs("direct", 3, false), 0) << "two send it";
}

// The root of a star serves as many in the pass that makes the result as the machine can remember; the others
// are sent to from where it lies, which must then be kept.
TEST(Schedule, NoMoreSendsAreFusedThanTheMachineRemembers) {
  for (int ranks : {int(kMostFused) + 1, int(kMostFused) + 2, 200}) {
    const Schedule s = lowered(Collective::allreduce, "star", ranks, 0, true);
    uint32_t sends = 0, most = 0;
    for (const Action& a : s.actions) {
      sends += a.kind == Kind::send;
      most = std::max(most, a.fused);
      EXPECT_FALSE(a.dead && a.fused < uint32_t(ranks - 1)) << ranks;
    }
    EXPECT_EQ(sends, uint32_t(ranks - 1));
    EXPECT_EQ(most, std::min(kMostFused, uint32_t(ranks - 1)));
  }
}

Schedule lowered_entering(const char* name, int ranks, int rank, bool in_place) {
  auto program = entered(find_algorithm(Collective::allreduce, name)->build(ranks, rank, 0, in_place));
  EXPECT_TRUE(program.ok()) << program.status().text();
  auto schedule = lower(std::move(program).value(), {});
  EXPECT_TRUE(schedule.ok()) << schedule.status().text();
  return std::move(schedule).value();
}

// A contribution that one fold reads is scaled there; only what is sent as it is takes a pass of its own.
TEST(Schedule, ContributionsEnterInTheFoldThatReadsThem) {
  for (bool in_place : {false, true}) {
    const Schedule s = lowered_entering("ring", 4, 1, in_place);
    int alone = 0, folded = 0;
    for (const Action& a : s.actions) {
      if (a.own == kNoOperand) continue;
      EXPECT_EQ(a.kind, Kind::fold);
      EXPECT_EQ(s.sources[a.first_source + a.own].place.in(), Buffer::input);
      (a.sources == 1 ? alone : folded)++;
    }
    EXPECT_EQ(alone, 1);
    EXPECT_EQ(folded, 3);
  }
  const Schedule one = lowered_entering("ring", 1, 0, false);
  ASSERT_EQ(one.actions.size(), 1u);
  EXPECT_EQ(one.actions[0].own, 0u);
  EXPECT_EQ(one.scratch, 0u);
}

TEST(Planner, OperatorsThatDoNotCommuteGetTheOrderOfRanks) {
  Planner few(0, 8), many(0, 200);
  Shape shape;
  shape.collective = Collective::allreduce;
  shape.bytes = 1 << 20;
  shape.commutes = false;
  ASSERT_TRUE(few.choose(shape).ok());
  EXPECT_TRUE((*few.choose(shape))->rank_order);
  // A chain takes no more than 64 ranks.
  const auto chosen = many.choose(shape);
  ASSERT_TRUE(chosen.ok()) << chosen.status().text();
  EXPECT_TRUE((*chosen)->rank_order && !(*chosen)->deterministic);
  shape.algorithm = "ring";
  const auto ring = few.choose(shape);
  ASSERT_FALSE(ring.ok());
  EXPECT_EQ(ring.status().code(), Code::unsupported);
  EXPECT_NE(ring.status().text().find("algorithm ring does not fold in the order of ranks"),
            std::string_view::npos);
  EXPECT_NE(ring.status().text().find("direct"), std::string_view::npos);
  EXPECT_TRUE(Planner(0, 1).choose(shape).ok());
  shape.commutes = true;
  EXPECT_TRUE(few.choose(shape).ok());
}

}  // namespace
}  // namespace plait::collectives::real
