// Which programs run as one round: those whose sends wait for nothing, and no others.
#include "collectives/machine/real/schedule.h"

#include <gtest/gtest.h>

#include "collectives/algorithms.h"

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

}  // namespace
}  // namespace plait::collectives::real
