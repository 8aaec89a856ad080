// The planner: which algorithm does a call, on every rank alike, and why.
#include "collectives/plan.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace plait::collectives {
namespace {

Shape shape(Collective collective, uint64_t bytes, bool in_place = true) {
  Shape s;
  s.collective = collective;
  s.bytes = bytes;
  s.in_place = in_place;
  return s;
}
std::string refusal(Planner& planner, const Shape& shape) {
  auto chosen = planner.choose(shape);
  if (chosen.ok()) return "";
  EXPECT_EQ(chosen.status().code(), Code::unsupported);
  return std::string(chosen.status().text());
}

// Whatever it rests on is agreed: two ranks of one communicator come to the same.
TEST(Plan, AllRanksChooseAlike) {
  for (int32_t n : {2, 3, 8, 33}) {
    std::vector<std::unique_ptr<Planner>> ranks;
    for (int32_t rank : {0, n / 2, n - 1}) ranks.push_back(std::make_unique<Planner>(rank, n));
    for (uint32_t c = 0; c < kCollectives; c++) {
      for (uint64_t bytes : {8u, 4096u, 1u << 20}) {
        for (bool in_place : {false, true}) {
          auto first = ranks[0]->choose(shape(Collective(c), bytes, in_place));
          ASSERT_TRUE(first.ok()) << first.status().text();
          for (auto& rank : ranks)
            EXPECT_EQ((*rank->choose(shape(Collective(c), bytes, in_place)))->number, (*first)->number);
        }
      }
    }
  }
}

// A chain of more operands than one pass takes does not run.
TEST(Plan, WhatTheMachineDoesNotRunIsNotChosen) {
  Planner planner(0, 100);
  for (uint64_t bytes : {8u, 1u << 20}) {
    auto chosen = planner.choose(shape(Collective::allreduce, bytes));
    ASSERT_TRUE(chosen.ok());
    EXPECT_TRUE(planner.schedule(**chosen, 0, true, false).ok());
    EXPECT_TRUE(planner.schedule(**chosen, 0, true, true).ok());
  }
}

// A program may be built for any number of ranks; what it would send is looked at before it runs.
TEST(Plan, TheAbsurdIsRefused) {
  Planner planner(1, 65536);
  Shape named = shape(Collective::allreduce, 1 << 20);
  named.algorithm = "ring";
  EXPECT_EQ(
      refusal(planner, named),
      "algorithm ring would send 8.6e+09 messages among 65536 ranks; calls of more than 1e+08 are not run: "
      "take one of fewer rounds, or level by level");
  named.algorithm = "rabenseifner";
  EXPECT_TRUE(planner.choose(named).ok());
  // Its root alone sends much.
  named.algorithm = "star";
  EXPECT_TRUE(planner.choose(named).ok());
}

TEST(Plan, ByName) {
  Planner planner(1, 4);
  Shape named = shape(Collective::allreduce, 8);
  named.algorithm = "ring";
  auto chosen = planner.choose(named);
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ((*chosen)->name, "ring");
  named.commutes = false;
  EXPECT_TRUE(
      refusal(planner, named)
          .starts_with("algorithm ring does not fold in the order of ranks, which this operator needs; "
                       "these do: direct, "));
  named.commutes = true;
  named.deterministic = true;
  EXPECT_EQ(refusal(planner, named),
            "algorithm ring is not one of the deterministic ones: direct, all_to_all");
  named.algorithm = "star trek";
  EXPECT_TRUE(
      refusal(planner, named).starts_with("no algorithm \"star trek\" for allreduce; there are: ring, "));
}

// Where no rank knows how long messages are, nothing is passed on (api: alltoallv and its like).
TEST(Plan, UnknownLengths) {
  Planner planner(0, 4);
  Shape uneven = shape(Collective::alltoall, 0, false);
  uneven.lengths_known = false;
  auto chosen = planner.choose(uneven);
  ASSERT_TRUE(chosen.ok()) << chosen.status().text();
  uneven.collective = Collective::gather;
  uneven.algorithm = "binomial";
  EXPECT_NE(refusal(planner, uneven).find("passes on what others send"), std::string::npos);
  uneven.algorithm = {};
  chosen = planner.choose(uneven);
  ASSERT_TRUE(chosen.ok()) << chosen.status().text();
  EXPECT_NE((*chosen)->name, "binomial");
}

TEST(Plan, SeatsAndMeasuredTimesAreLookedAt) {
  Planner planner(0, 2);
  auto name_of_choice = [&](uint64_t bytes) {
    return (*planner.choose(shape(Collective::allreduce, bytes)))->name;
  };
  EXPECT_EQ(name_of_choice(16384), "direct");
  planner.seat({.ranks = 2, .host_of = {0, 1}});  // over a network a round is dear
  EXPECT_EQ(name_of_choice(16384), "all_to_all");
  auto tuning = std::make_shared<Tuning>();
  tuning->cases[{Collective::allreduce, 2, 2, true}] = {{16384, {{"ring", 1e-6}, {"all_to_all", 2e-6}}}};
  planner.use(tuning);
  EXPECT_EQ(name_of_choice(16384), "ring");
}

// Ranks of several hosts, of which some have more than one: level by level, on all ranks alike, also where
// ranks of a host are not adjacent. Where a link is slow, what sends least between hosts is chosen.
TEST(Plan, HostsAreLevels) {
  const std::vector<std::vector<int32_t>> placements = {
      {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 0, 1, 1, 2}, {0, 1, 1, 1, 1}, {2, 0, 1, 2, 0, 2}};
  for (const auto& host_of : placements) {
    const auto n = int32_t(host_of.size());
    const Seating seating{.ranks = n, .host_of = host_of, .link_Bps = 125e6};
    std::vector<std::unique_ptr<Planner>> ranks;
    for (int32_t r = 0; r < n; r++) {
      ranks.push_back(std::make_unique<Planner>(r, n));
      ranks.back()->seat(seating);
      ASSERT_EQ(ranks[size_t(r)]->methods().size(), ranks[0]->methods().size());
    }
    for (Collective c : {Collective::allreduce, Collective::reduce_scatter, Collective::allgather,
                         Collective::broadcast, Collective::reduce, Collective::barrier}) {
      for (uint64_t bytes : {8u, 1u << 16, 1u << 24}) {
        const auto first = ranks[0]->choose(shape(c, bytes));
        ASSERT_TRUE(first.ok()) << first.status().text();
        for (auto& rank : ranks) EXPECT_EQ((*rank->choose(shape(c, bytes)))->number, (*first)->number);
        const bool by_level = (*first)->name.find('/') != std::string_view::npos;
        EXPECT_TRUE(by_level || c != Collective::allreduce || bytes < 1u << 20) << (*first)->name;
      }
    }
    Shape named = shape(Collective::allreduce, 1000);
    named.algorithm = "ring/direct";
    EXPECT_EQ(refusal(*ranks[0], named), "");
  }
}

// In round-robin placement the two levels follow the hosts, not the numbers of the ranks.
TEST(Plan, LevelsFollowHosts) {
  Planner planner(0, 6);
  const std::vector<int32_t> host_of = {0, 1, 0, 1, 0, 1};
  planner.seat({.ranks = 6, .host_of = host_of});
  const Method* method = planner.methods().find(Collective::allreduce, "ring/ring");
  ASSERT_NE(method, nullptr);
  for (int32_t rank = 0; rank < 6; rank++) {
    uint32_t near = 0, far = 0;
    for (const Step& s : method->build(rank, 0, true).steps) {
      if (sends(s.op)) (host_of[size_t(s.peer)] == host_of[size_t(rank)] ? near : far) += s.count;
    }
    EXPECT_EQ(near, method->chunks * 4 / 3);  // 2 (n-1)/n of the vector, by three
    EXPECT_EQ(far, method->chunks / 3);       // and of a third of it, by two
  }
}

TEST(Plan, NoLevelsWhereThereIsOne) {
  for (const auto& host_of : {std::vector<int32_t>{}, {0, 0, 0}, {0, 1, 2}}) {
    Planner planner(0, 3);
    planner.seat({.ranks = 3, .host_of = host_of});
    EXPECT_EQ(planner.methods().size(), algorithms().size());
  }
}

TEST(Plan, Explains) {
  Planner planner(0, 4);
  auto tuning = std::make_shared<Tuning>();
  tuning->cases[{Collective::allreduce, 4, 1, true}] = {{4096, {{"ring", 7e-6}, {"direct", 5e-6}}}};
  planner.use(tuning);
  const std::string text = planner.explain(shape(Collective::allreduce, 4096));
  EXPECT_EQ(text.substr(0, text.find('\n')), "allreduce of 4096 bytes in place: 1 host of 4 ranks");
  const size_t direct = text.find("* direct"), ring = text.find("  ring");
  ASSERT_NE(direct, text.npos) << text;
  ASSERT_NE(ring, text.npos) << text;
  EXPECT_LT(direct, ring);
  EXPECT_NE(text.find("measured 5.000 us, estimated "), text.npos) << text;
  EXPECT_NE(planner.explain(shape(Collective::allreduce, 4096, false)).find("simulated"), text.npos);
  // Whatever the caller forces.
  Shape forced = shape(Collective::allreduce, 4096);
  forced.algorithm = "ring";
  EXPECT_EQ(planner.explain(forced), text);
}

TEST(Plan, ExplainsWhatDoesNotRun) {
  Planner planner(0, 4);
  Shape unknown = shape(Collective::gather, 0, false);
  unknown.lengths_known = false;
  size_t run = 0, chosen = 0;
  for (const Weighed& c : planner.candidates(unknown)) {
    run += c.runs;
    chosen += c.chosen;
    EXPECT_TRUE(c.runs || !c.chosen) << c.method->name;
  }
  EXPECT_GT(run, 0u);
  EXPECT_LT(run, planner.candidates(unknown).size());
  EXPECT_EQ(chosen, 1u);
  const std::string text = planner.explain(unknown);
  EXPECT_EQ(text.substr(0, text.find('\n')), "gather of blocks that not all ranks know: 1 host of 4 ranks");
  EXPECT_NE(text.find(", does not run"), text.npos) << text;
}

// A quarter of the bytes, and some time for that.
constexpr Encoding kQuarter{.which = Encoded::all, .ratio = 0.25, .encode_ns = 0.1, .decode_ns = 0.1};

Shape encoded(uint64_t bytes, std::string_view algorithm = {}) {
  Shape s = shape(Collective::allreduce, bytes);
  s.encoding = kQuarter;
  s.algorithm = algorithm;
  return s;
}
Seating hosts(int32_t n, double link_Bps) {
  Seating seating{.ranks = n, .link_Bps = link_Bps};
  for (int32_t r = 0; r < n; r++) seating.host_of.push_back(r);
  return seating;
}

TEST(Plan, ACodecPaysWhereLinksAreSlow) {
  Planner slow(0, 2), fast(0, 2), memory(0, 2);
  slow.seat(hosts(2, 1.25e8));
  fast.seat(hosts(2, 1e11));
  EXPECT_TRUE(slow.pays(encoded(1 << 20)));
  EXPECT_TRUE(slow.pays(encoded(64 << 20)));
  EXPECT_FALSE(slow.pays(encoded(64)));
  EXPECT_FALSE(fast.pays(encoded(64 << 20)));
  for (uint64_t bytes : {64u, 1u << 20, 64u << 20}) EXPECT_FALSE(memory.pays(encoded(bytes))) << bytes;
}

TEST(Plan, ALossyCodecGoesWithWhatLeavesRanksAlike) {
  for (int32_t n : {2, 3, 4, 7, 16}) {
    for (uint64_t bytes : {64u, 4096u, 65536u, 1u << 20, 64u << 20}) {
      Planner first(0, n), last(n - 1, n);
      for (Planner* planner : {&first, &last}) planner->seat(hosts(n, 1.25e8));
      auto chosen = first.choose(encoded(bytes));
      ASSERT_TRUE(chosen.ok()) << chosen.status().text();
      EXPECT_TRUE((*chosen)->one_wire) << (*chosen)->name;
      EXPECT_EQ((*last.choose(encoded(bytes)))->number, (*chosen)->number);
      EXPECT_EQ(first.pays(encoded(bytes)), last.pays(encoded(bytes)));
    }
  }
  Planner planner(0, 4);
  EXPECT_NE(refusal(planner, encoded(4096, "recursive_doubling")).find("ranks with different bits"),
            std::string::npos);
  Shape exact = encoded(4096, "recursive_doubling");
  exact.encoding.exact = true;
  EXPECT_TRUE(planner.choose(exact).ok());
}

// Around a ring whoever crosses to another host would encode what those before it have as it was.
TEST(Plan, BetweenHostsALossyCodecGoesLevelByLevel) {
  for (const std::vector<int32_t>& host_of :
       {std::vector<int32_t>{0, 0, 1}, {0, 0, 1, 1}, {0, 1, 0, 1, 2, 2}}) {
    Planner planner(0, int32_t(host_of.size()));
    planner.seat({.ranks = int32_t(host_of.size()), .host_of = host_of, .link_Bps = 1.25e8});
    for (Collective c :
         {Collective::allreduce, Collective::allgather, Collective::broadcast, Collective::reduce}) {
      for (uint64_t bytes : {4096u, 1u << 20, 64u << 20}) {
        Shape s = shape(c, bytes);
        s.encoding = kQuarter;
        s.encoding.which = Encoded::between_hosts;
        auto chosen = planner.choose(s);
        ASSERT_TRUE(chosen.ok()) << name_of(c) << ": " << chosen.status().text();
        const bool by_levels = (*chosen)->name.find('/') != std::string_view::npos;
        EXPECT_TRUE(c != Collective::allreduce || by_levels) << (*chosen)->name;
      }
    }
    Shape ring = encoded(1 << 20, "ring");
    ring.encoding.which = Encoded::between_hosts;
    EXPECT_NE(refusal(planner, ring).find("ranks with different bits"), std::string::npos);
  }
}

TEST(Plan, EachFormOfEncodingHasItsSchedule) {
  Planner planner(1, 4);
  planner.seat({.ranks = 4, .host_of = {0, 0, 1, 1}, .link_Bps = 1.25e8});
  const Method* ring = planner.methods().find(Collective::allreduce, "ring");
  auto wires = [&](const Encoding& encoding) {
    auto schedule = planner.schedule(*ring, 0, true, false, false, encoding);
    EXPECT_TRUE(schedule.ok()) << schedule.status().text();
    EXPECT_EQ(*planner.schedule(*ring, 0, true, false, false, encoding), *schedule) << "made once";
    return std::ranges::count_if((*schedule)->actions, [](const real::Action& a) { return a.wired; });
  };
  EXPECT_EQ(wires({}), 0);
  EXPECT_EQ(wires({.which = Encoded::all}), 12);           // to the next rank, and from the one before
  EXPECT_EQ(wires({.which = Encoded::between_hosts}), 6);  // the next rank is on the other host
}

}  // namespace
}  // namespace plait::collectives
