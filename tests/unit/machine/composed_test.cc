// Compositions of levels, run by the real machine over the fake fabric: hosts of all sizes, ranks placed in
// any way, every element checked.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "job.h"
#include "moods.h"

namespace plait::collectives::real::test {
namespace {

using Sizes = std::vector<std::vector<int>>;

constexpr Collective kComposed[] = {Collective::allreduce, Collective::reduce_scatter, Collective::allgather,
                                    Collective::broadcast, Collective::reduce,         Collective::barrier};

// Those of `names` that there are, for each collective.
std::vector<Method> methods(const Sizes& sizes, std::vector<int32_t> order,
                            const std::vector<const char*>& names) {
  auto hierarchy = std::make_shared<const Hierarchy>(*Hierarchy::make(sizes, std::move(order)));
  std::vector<Method> all;
  for (Collective collective : kComposed) {
    for (const char* name : names) {
      auto made = Composition::make(collective, name, hierarchy);
      if (!made.ok()) continue;
      auto method = method_of(std::make_shared<const Composition>(std::move(*made)), name);
      if (method.ok()) all.push_back(std::move(*method));
    }
  }
  return all;
}

struct Hosts {
  Sizes sizes;
  std::vector<int32_t> order;  // empty: ranks of a host are adjacent
};

void expect_right(const Hosts& hosts, const std::vector<const char*>& names, uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::vector<Method> all = methods(hosts.sizes, hosts.order, names);
  ASSERT_FALSE(all.empty());
  World setup{.ranks = all[0].ranks, .fabric = moods(seed), .eager_bytes = eager(seed)};
  run_ranks(setup, [&](int rank, Rank& r) -> Status {
    std::mt19937_64 random(seed);
    for (const Method& method : all) {
      for (int k = 0; k < 2; k++) PLAIT_TRY(run_job(random_job(random, method), rank, r));
    }
    return {};
  });
}

class Composed : public testing::TestWithParam<int> {};

// Hosts of two; hosts of three, two and one; four on two hosts; round-robin placement, and one that follows
// nothing.
TEST_P(Composed, TwoLevels) {
  const std::vector<const char*> names = {"ring/ring",        "ring/direct",
                                          "direct/ring",      "star/double_tree",
                                          "binomial/ring",    "rabenseifner/recursive_doubling",
                                          "direct/multi_ring"};
  for (const Hosts& hosts : {Hosts{{{2}, {2}}, {}},
                             {{{3, 2, 1}, {3}}, {}},
                             {{{4}, {2}}, {}},
                             {{{2}, {2}}, {0, 2, 1, 3}},
                             {{{3, 2, 1}, {3}}, {5, 3, 1, 0, 4, 2}}}) {
    expect_right(hosts, names, uint64_t(GetParam()));
  }
}

TEST_P(Composed, ThreeLevels) {
  const std::vector<const char*> names = {"ring/ring/ring", "direct/ring/direct",
                                          "star/ring/recursive_doubling"};
  expect_right({{{2}, {2}, {2}}, {}}, names, uint64_t(GetParam()));
  expect_right({{{2}, {2}, {2}}, {7, 0, 6, 1, 5, 2, 4, 3}}, names, uint64_t(GetParam()));
}

#ifdef PLAIT_SANITIZED
constexpr int kSeeds = 2;
#else
constexpr int kSeeds = 4;
#endif
INSTANTIATE_TEST_SUITE_P(Seeds, Composed, testing::Range(1, 1 + kSeeds));

}  // namespace
}  // namespace plait::collectives::real::test
