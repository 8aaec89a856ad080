// Hierarchies of two to four levels, proved.
#include "collectives/compose.h"

#include <cstdlib>
#include <numeric>
#include <random>

#include "base/clock.h"
#include "collectives/chunkwise.h"
#include "collectives/method.h"
#include "unit/collectives/programs.h"

namespace plait::collectives {
namespace {

using Sizes = std::vector<std::vector<int>>;

constexpr Collective kComposed[] = {Collective::allreduce, Collective::reduce_scatter, Collective::allgather,
                                    Collective::broadcast, Collective::reduce,         Collective::barrier};

Result<Composition> compose(Collective collective, std::string_view algorithms, Sizes sizes,
                            std::vector<int32_t> order = {}) {
  auto hierarchy = Hierarchy::make(std::move(sizes), std::move(order));
  if (!hierarchy.ok()) return hierarchy.status();
  return Composition::make(collective, algorithms, std::move(*hierarchy));
}

std::vector<Program> programs_of(const Composition& composition, int root, bool in_place) {
  std::vector<Program> programs;
  for (int r = 0; r < composition.n(); r++) {
    auto program = composition.build(r, root, in_place);
    EXPECT_TRUE(program.ok()) << program.status().text();
    if (program.ok()) programs.push_back(std::move(*program));
  }
  return programs;
}

// Proves all programs of a composition, with what it says of itself.
void check(Collective collective, const Composition& composition, int root) {
  for (bool in_place : {false, true}) {
    auto programs = programs_of(composition, root, in_place);
    Proof proof = prove({collective, root}, programs);
    ASSERT_TRUE(proof.status.ok()) << proof.status.text();
    EXPECT_LE(proof.min_credits, programs[0].min_credits);
    EXPECT_TRUE(proof.rank_order || !programs[0].rank_order);
  }
}

// The same as it runs where chunks are large.
void check_apart(Collective collective, const Composition& composition, int root) {
  auto method = method_of(std::make_shared<const Composition>(composition), "x/y");
  if (!method.ok()) {
    EXPECT_TRUE(collective == Collective::reduce_scatter && composition.levels() > 2);
    return;
  }
  for (bool in_place : {false, true}) {
    std::vector<Program> programs;
    for (int r = 0; r < composition.n(); r++) programs.push_back(chunkwise(method->build(r, root, in_place)));
    Proof proof = prove({collective, root}, programs);
    ASSERT_TRUE(proof.status.ok()) << proof.status.text();
    EXPECT_LE(proof.min_credits, method->min_credits[in_place]);
    EXPECT_TRUE(proof.rank_order || !method->rank_order);
  }
}

std::string text_of(const Sizes& sizes) {
  std::string text;
  for (const auto& level : sizes) {
    text += text.empty() ? "" : " / ";
    for (int size : level) text += std::to_string(size) + " ";
  }
  return text;
}

void expect_proved(std::string_view algorithms, const Sizes& sizes, std::vector<int32_t> order = {}) {
  for (Collective collective : kComposed) {
    SCOPED_TRACE(std::string(name_of(collective)) + " by " + std::string(algorithms) + " over " +
                 text_of(sizes));
    auto composition = compose(collective, algorithms, sizes, order);
    if (!composition.ok()) {
      EXPECT_EQ(composition.status().code(), Code::unsupported);
      continue;
    }
    for (int root = 0; root < (rooted(collective) ? composition->n() : 1); root++) {
      check(collective, *composition, root);
      check_apart(collective, *composition, root);
    }
  }
}

TEST(Compose, TwoLevels) {
  for (const char* algorithms :
       {"ring/direct", "direct/ring", "direct/rabenseifner", "rabenseifner/double_tree", "star/ring",
        "binomial/binomial", "star/dissemination", "bine/pat", "pat/recursive_doubling", "ring/all_to_all"}) {
    for (const Sizes& sizes : {Sizes{{2}, {2}},
                               {{4}, {3}},
                               {{3, 2, 1}, {3}},
                               {{1, 2, 3, 4}, {4}},
                               {{5}, {1}},
                               {{1}, {5}},
                               {{1}, {1}}}) {
      expect_proved(algorithms, sizes);
    }
  }
}

TEST(Compose, ThreeLevels) {
  for (const char* algorithms : {"ring/ring/ring", "direct/ring/direct", "star/ring/recursive_doubling",
                                 "ring/binomial/double_tree", "direct/pat/star"}) {
    for (const Sizes& sizes :
         {Sizes{{2}, {2}, {2}}, {{3, 2, 1}, {2, 1}, {2}}, {{2, 1, 4, 1, 1, 3}, {1, 3, 2}, {3}}}) {
      expect_proved(algorithms, sizes);
    }
  }
}

TEST(Compose, FourLevels) {
  expect_proved("direct/ring/direct/ring", {{2, 1, 2, 3, 1}, {2, 1, 2}, {2, 1}, {2}});
}

// No more credits than its algorithms alone, in and out of place, in one message a step or apart: where
// members own several blocks, where they own unlike numbers of them, where an outer level sends what an inner
// one left in scratch.
TEST(Compose, NeedsNoMoreCreditsThanItsAlgorithms) {
  struct Case {
    Collective collective;
    const char* algorithms;
    Sizes sizes;
  };
  for (const auto& [collective, algorithms, sizes] :
       {Case{Collective::reduce_scatter, "direct/direct", {{3}, {3}}},
        Case{Collective::reduce_scatter, "direct/direct", {{6}, {4}}},
        Case{Collective::reduce_scatter, "rabenseifner/direct", {{6}, {4}}},
        Case{Collective::reduce_scatter, "pat/direct/ring", {{3}, {3}, {2}}},
        Case{Collective::reduce_scatter, "ring/pat_16/direct", {{2}, {1}, {3}}},
        Case{Collective::reduce_scatter, "direct/direct", {{3, 5, 8, 2}, {4}}},
        Case{Collective::reduce, "pipeline/direct/star", {{3}, {3}, {2}}},
        Case{Collective::reduce, "ring/direct", {{3, 5, 8, 2}, {4}}},
        Case{Collective::allreduce, "direct/direct", {{3, 5, 8, 2}, {4}}},
        Case{Collective::allreduce, "ring/direct", {{4, 1, 3}, {3}}}}) {
    SCOPED_TRACE(std::string(name_of(collective)) + " by " + algorithms + " over " + text_of(sizes));
    auto composition = compose(collective, algorithms, sizes);
    ASSERT_TRUE(composition.ok()) << composition.status().text();
    EXPECT_EQ(composition->min_credits(), 0);
    check(collective, *composition, 0);
    check_apart(collective, *composition, 0);
  }
}

// Round-robin placement, and a ring of hosts that does not follow their numbers.
TEST(Compose, FollowsAnOrderOfRanks) {
  expect_proved("ring/direct", {{3}, {2}}, {0, 2, 4, 1, 3, 5});
  expect_proved("direct/ring", {{3, 2, 1}, {3}}, {5, 3, 1, 0, 4, 2});
}

// What a program sends out of its host: a shard of the vector, not all of it.
TEST(Compose, OnlyShardsLeaveAGroup) {
  auto composition = compose(Collective::allreduce, "ring/direct", {{4}, {3}});
  ASSERT_TRUE(composition.ok());
  for (int rank = 0; rank < 12; rank++) {
    auto program = composition->build(rank, 0, false);
    uint32_t chunks = 0;
    for (const Step& s : program->steps) {
      if (s.op != Op::send || s.peer / 4 == rank / 4) continue;
      EXPECT_EQ(s.peer % 4, rank % 4) << describe(s);
      chunks += s.count;
    }
    // A third of the shard to each of two others, and the sum of its own third to both.
    EXPECT_EQ(chunks * 4, composition->chunks() * 4 / 3);
  }
}

TEST(Compose, SaysWhatItDoesNotDo) {
  auto refused = [](Collective collective, std::string_view algorithms, Sizes sizes, Code code,
                    const char* why) {
    auto made = compose(collective, algorithms, std::move(sizes));
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.status().code(), code);
    EXPECT_NE(made.status().text().find(why), std::string_view::npos) << made.status().text();
  };
  refused(Collective::alltoall, "ring/ring", {{2}, {2}}, Code::unsupported, "alltoall is not composed");
  refused(Collective::allreduce, "ring", {{2}, {2}}, Code::invalid, "names 1 algorithms");
  refused(Collective::allreduce, "ring/", {{2}, {2}}, Code::unsupported,
          "no allreduce level of a hierarchy by \"\"");
  refused(Collective::allreduce, "recursive_doubling/ring", {{2}, {2}}, Code::unsupported,
          "recursive_doubling");
  refused(Collective::barrier, "ring/ring", {{2}, {2}}, Code::unsupported, "no barrier level");
  refused(Collective::reduce_scatter, "star/ring", {{2}, {2}}, Code::unsupported, "no reduce_scatter level");
  refused(Collective::allreduce, "swing/ring", {{2, 3}, {2}}, Code::unsupported,
          "has no program for a group of 3");
  auto composition = compose(Collective::broadcast, "ring/ring", {{2}, {2}});
  ASSERT_TRUE(composition.ok());
  EXPECT_EQ(composition->build(4, 0, false).status().code(), Code::invalid);
  EXPECT_EQ(composition->build(0, -1, false).status().code(), Code::invalid);
}

// A hierarchy of 65,536 asks a rank for its own steps only.
TEST(Compose, ManyRanks) {
  auto composition = compose(Collective::allreduce, "ring/ring/direct", {{8}, {64}, {128}});
  ASSERT_TRUE(composition.ok());
  auto program = composition->build(12345, 0, true);
  ASSERT_TRUE(program.ok());
  EXPECT_LT(program->steps.size(), 2u * 2 * (8 + 64 + 2 * 128));
}

std::vector<int> random_sizes(std::mt19937& random, int groups, int most) {
  std::vector<int> sizes;
  for (int g = 0; g < groups; g++) sizes.push_back(1 + int(random() % unsigned(most)));
  return sizes;
}

TEST(Compose, AtRandom) {
  const char* given = std::getenv("PLAIT_TEST_SEED");
  const unsigned seed = given ? unsigned(std::strtoul(given, nullptr, 10)) : std::random_device{}();
  SCOPED_TRACE(testing::Message() << "PLAIT_TEST_SEED=" << seed);
  std::mt19937 random(seed);
  const char* names[] = {"ring",
                         "direct",
                         "rabenseifner",
                         "pat",
                         "pat_16",
                         "star",
                         "binomial",
                         "bine",
                         "swing",
                         "double_tree",
                         "pipeline",
                         "all_to_all",
                         "recursive_doubling"};
  int proved = 0;
  for (const int64_t end = now_ns() + 4'000'000'000; now_ns() < end && proved < 300;) {
    const int levels = 2 + int(random() % 3);
    Sizes sizes{{1 + int(random() % 4)}};
    std::string algorithms;
    for (int l = 1; l < levels; l++) {
      int groups = std::accumulate(sizes[0].begin(), sizes[0].end(), 0);
      sizes.insert(sizes.begin(), random_sizes(random, groups, levels == 2 ? 6 : 3));
    }
    for (int l = 0; l < levels; l++)
      algorithms += (l ? "/" : "") + std::string(names[random() % std::size(names)]);
    const Collective collective = kComposed[random() % std::size(kComposed)];
    SCOPED_TRACE(std::string(name_of(collective)) + " by " + algorithms + " over " + text_of(sizes));
    auto hierarchy = Hierarchy::make(sizes);
    ASSERT_TRUE(hierarchy.ok());
    std::vector<int32_t> order(size_t(hierarchy->n()));
    std::iota(order.begin(), order.end(), 0);
    if (random() % 2) std::shuffle(order.begin(), order.end(), random);
    auto composition = compose(collective, algorithms, sizes, order);
    if (!composition.ok()) continue;
    const int root = int(random() % unsigned(composition->n()));
    check(collective, *composition, root);
    check_apart(collective, *composition, root);
    if (testing::Test::HasFailure()) return;
    proved++;
  }
  RecordProperty("proved", proved);
  EXPECT_GT(proved, 0);
}

}  // namespace
}  // namespace plait::collectives
