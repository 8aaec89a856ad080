// Methods that no table has: what was composed for the hosts, and what was imported.
#include "collectives/method.h"

#include <gtest/gtest.h>

#include "collectives/exchange/json.h"
#include "collectives/exchange/method.h"
#include "collectives/plan.h"

namespace plait::collectives {
namespace {

using exchange::Admitted;

Method composed(Collective collective, const char* levels, std::vector<std::vector<int>> sizes) {
  auto made = Composition::make(collective, levels, *Hierarchy::make(std::move(sizes)));
  EXPECT_TRUE(made.ok()) << made.status().text();
  auto method = method_of(std::make_shared<const Composition>(std::move(*made)), levels);
  EXPECT_TRUE(method.ok()) << method.status().text();
  return *method;
}

// As a file would bring it: a row's programs under another name.
Result<Method> imported(Collective collective, std::string_view row, int n, int root = 0,
                        const std::function<void(exchange::ProgramSet&)>& change = {}) {
  exchange::ProgramSet set = exchange::build_set(*find_algorithm(collective, row), n, root);
  set.name = "mine";
  if (change) change(set);
  auto admitted = exchange::admit(std::move(set));
  if (!admitted.ok()) return admitted.status();
  return exchange::method_of(std::make_shared<const Admitted>(std::move(*admitted)));
}

Shape named(Collective collective, std::string_view name, bool in_place = false) {
  Shape s;
  s.collective = collective;
  s.bytes = 4096;
  s.in_place = in_place;
  s.algorithm = name;
  return s;
}
std::string refusal(Planner& planner, const Shape& shape) {
  auto chosen = planner.choose(shape);
  if (chosen.ok()) return "";
  EXPECT_EQ(chosen.status().code(), Code::unsupported);
  return std::string(chosen.status().text());
}

// By name, and made ready in each of its forms, on every rank.
void expect_runs(const Method& method, int n, int32_t root = 0) {
  for (int rank = 0; rank < n; rank++) {
    Planner planner(rank, n);
    ASSERT_TRUE(planner.add(method).ok());
    for (bool in_place : {false, true}) {
      Shape shape = named(method.collective, method.name, in_place);
      shape.root = root;
      auto chosen = planner.choose(shape);
      ASSERT_TRUE(chosen.ok()) << chosen.status().text();
      EXPECT_EQ((*chosen)->name, method.name);
      EXPECT_EQ((*chosen)->number, algorithms().size());
      for (bool joined : {false, true}) {
        auto schedule = planner.schedule(**chosen, root, in_place, joined);
        ASSERT_TRUE(schedule.ok()) << schedule.status().text();
        EXPECT_EQ((*schedule)->program.rank, rank);
        EXPECT_FALSE((*schedule)->actions.empty());
        EXPECT_EQ(*planner.schedule(**chosen, root, in_place, joined), *schedule) << "made once";
      }
    }
  }
}

TEST(Methods, RowsComeFirstAndKeepTheirNumbers) {
  const Methods methods(6);
  ASSERT_EQ(methods.size(), algorithms().size());
  for (uint32_t i = 0; i < methods.size(); i++) {
    const Algorithm& row = algorithms()[i];
    EXPECT_EQ(methods[i].number, i);
    EXPECT_EQ(methods[i].name, row.name);
    EXPECT_EQ(methods[i].row, &row);
    EXPECT_EQ(methods[i].fits(0, false, false), row.accepts(6));
    EXPECT_EQ(methods.find(row.collective, row.name), &methods[i]);
  }
}

TEST(Methods, NamesAreTheirOwn) {
  Methods methods(4);
  EXPECT_TRUE(methods.add(composed(Collective::allreduce, "ring/direct", {{2}, {2}})).ok());
  const Method* added = methods.find(Collective::allreduce, "ring/direct");
  ASSERT_NE(added, nullptr);
  EXPECT_EQ(added->number, algorithms().size());
  EXPECT_EQ(methods.find(Collective::broadcast, "ring/direct"), nullptr);
  auto refused = [&](Method method) { return std::string(methods.add(std::move(method)).text()); };
  EXPECT_EQ(refused(*added), "allreduce \"ring/direct\": there is an algorithm of that name");
  Method ring = *added;
  ring.name = "ring";
  EXPECT_EQ(refused(ring), "allreduce \"ring\": there is an algorithm of that name");
  ring.name = "";
  EXPECT_EQ(refused(ring), "allreduce \"\": an algorithm must have a name");
  EXPECT_EQ(refused(composed(Collective::allreduce, "ring/ring", {{3}, {2}})),
            "allreduce \"ring/ring\": it is for 6 ranks, the communicator has 4");
  EXPECT_EQ(methods.size(), algorithms().size() + 1);
  EXPECT_EQ(lasting("x").data(), lasting(std::string("x")).data());
}

TEST(Methods, CompositionsRun) {
  expect_runs(composed(Collective::allreduce, "ring/direct", {{2}, {2}}), 4);
  expect_runs(composed(Collective::allreduce, "double_tree/ring", {{3, 2}, {2}}), 5);
  expect_runs(composed(Collective::broadcast, "binomial/ring", {{2}, {3}}), 6, 4);
}

TEST(Methods, ImportedProgramsRun) {
  for (auto& [row, collective] : {std::pair{"ring", Collective::allreduce},
                                  {"double_tree", Collective::allreduce},
                                  {"binomial", Collective::broadcast},
                                  {"binomial", Collective::gather}}) {
    auto method = imported(collective, row, 5);
    ASSERT_TRUE(method.ok()) << method.status().text();
    EXPECT_EQ(method->name, "mine");
    const Algorithm& like = *find_algorithm(collective, row);
    EXPECT_LE(method->lanes, like.lanes);
    for (bool in_place : {false, true})
      EXPECT_EQ(method->min_credits[in_place], like.min_credits[in_place]) << row;
    expect_runs(*method, 5);
  }
}

TEST(Methods, WhatTheyDoNotFitIsRefused) {
  auto out_of_place = [](exchange::ProgramSet& set) { set.programs[1].clear(); };
  auto method = imported(Collective::allreduce, "ring", 4, 0, out_of_place);
  ASSERT_TRUE(method.ok()) << method.status().text();
  Planner planner(1, 4);
  ASSERT_TRUE(planner.add(*method).ok());
  Shape shape = named(Collective::allreduce, "mine");
  EXPECT_EQ(refusal(planner, shape), "");
  shape.in_place = true;
  EXPECT_EQ(refusal(planner, shape), "algorithm mine has no program in place");
  shape.in_place = false;
  shape.deterministic = true;
  EXPECT_EQ(refusal(planner, shape),
            "algorithm mine is not one of the deterministic ones: direct, all_to_all");
  shape.deterministic = false;
  shape.commutes = false;
  EXPECT_TRUE(refusal(planner, shape).starts_with("algorithm mine does not fold in the order of ranks"));

  auto rooted = imported(Collective::broadcast, "binomial", 4, 2);
  ASSERT_TRUE(rooted.ok()) << rooted.status().text();
  ASSERT_TRUE(planner.add(*rooted).ok());
  Shape broadcast = named(Collective::broadcast, "mine");
  EXPECT_EQ(refusal(planner, broadcast), "algorithm mine is for root 2 only, not 0");
  broadcast.root = 2;
  EXPECT_EQ(refusal(planner, broadcast), "");

  auto parted = imported(Collective::allgather, "ring", 4);
  ASSERT_TRUE(parted.ok()) << parted.status().text();
  ASSERT_TRUE(planner.add(*parted).ok());
  Shape uneven = named(Collective::allgather, "mine");
  uneven.uneven = true;
  EXPECT_EQ(refusal(planner, uneven), "algorithm mine is not for blocks of different lengths");
}

TEST(Methods, AProvenOrderIsKept) {
  auto method = imported(Collective::allreduce, "direct", 4);
  ASSERT_TRUE(method.ok()) << method.status().text();
  EXPECT_TRUE(method->rank_order);
  EXPECT_TRUE(method->deterministic);
}

// A lane beyond the streams of a link: the machine would refuse it on some ranks, so all refuse the name.
TEST(Methods, WhatTheMachineDoesNotRunIsRefused) {
  auto method = imported(Collective::broadcast, "star", 3, 0, [](exchange::ProgramSet& set) {
    for (auto& programs : set.programs)
      for (Program& p : programs)
        for (Step& s : p.steps)
          if (s.peer == 2 || p.rank == 2) s.lane = 40;
  });
  ASSERT_TRUE(method.ok()) << method.status().text();
  for (int rank : {0, 1, 2}) {
    Planner planner(rank, 3);
    ASSERT_TRUE(planner.add(*method).ok());
    EXPECT_TRUE(refusal(planner, named(Collective::broadcast, "mine"))
                    .starts_with("algorithm mine does not run: rank 0: lane 40, and there are"));
    EXPECT_NE((*planner.choose(named(Collective::broadcast, "")))->name, "mine");
  }
}

// They are candidates beside the rows, on paper or simulated, and measured times decide as for these.
TEST(Methods, AreCandidates) {
  Planner planner(0, 16);
  Seating seating{.ranks = 16};
  for (int r = 0; r < 16; r++) seating.host_of.push_back(r / 4);
  ASSERT_TRUE(planner.add(composed(Collective::allreduce, "ring/direct", {{4}, {4}})).ok());
  planner.seat(seating);
  const Shape shape = named(Collective::allreduce, "", true);
  bool found = false;
  for (const Candidate& c : planner.candidates(shape)) {
    if (c.method->name != "ring/direct") continue;
    found = true;
    EXPECT_TRUE(c.simulated);
    EXPECT_GT(c.predicted, 0);
    EXPECT_LT(c.predicted, 1);
  }
  EXPECT_TRUE(found);
  EXPECT_NE(planner.explain(shape).find("ring/direct"), std::string::npos);
  auto tuning = std::make_shared<Tuning>();
  tuning->cases[{Collective::allreduce, 16, 4, true}] = {{4096, {{"ring/direct", 1e-6}, {"ring", 2e-6}}}};
  planner.use(tuning);
  EXPECT_EQ((*planner.choose(shape))->name, "ring/direct");
}

// What is for one root only is chosen for that one, whichever was asked for first.
TEST(Methods, ChoicesKeepRootsApart) {
  auto method = imported(Collective::broadcast, "star", 4, 2);
  ASSERT_TRUE(method.ok()) << method.status().text();
  Planner planner(0, 4);
  ASSERT_TRUE(planner.add(*method).ok());
  auto tuning = std::make_shared<Tuning>();
  tuning->cases[{Collective::broadcast, 4, 1, false}] = {{4096, {{"mine", 1e-6}, {"binomial", 2e-6}}}};
  planner.use(tuning);
  auto choice = [&](int32_t root) {
    Shape shape = named(Collective::broadcast, "");
    shape.root = root;
    return std::string((*planner.choose(shape))->name);
  };
  for (int round = 0; round < 2; round++) {
    EXPECT_EQ(choice(0), "binomial");
    EXPECT_EQ(choice(2), "mine");
    EXPECT_EQ(choice(3), "binomial");
  }
}

}  // namespace
}  // namespace plait::collectives
