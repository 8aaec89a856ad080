// How flows share links, against what can be said on paper, and against the plainest filling there is.
#include "sim/fluid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <random>

#include "sim/networks.h"

namespace plait::sim {
namespace {

// Any links, any routes.
class Table final : public Network {
 public:
  std::vector<double> capacities;
  std::map<std::pair<int32_t, int32_t>, std::vector<uint32_t>> routes;
  int32_t terminals() const override { return 1000; }
  int32_t nodes() const override { return 1000; }
  uint32_t links() const override { return uint32_t(capacities.size()); }
  Link link(uint32_t i) const override { return {int32_t(i), int32_t(i) + 1, capacities[i], 0}; }
  void route(int32_t from, int32_t to, std::vector<uint32_t>& out) const override {
    const auto& way = routes.at({from, to});
    out.insert(out.end(), way.begin(), way.end());
  }
  std::string name(int32_t node) const override { return std::to_string(node); }
};

// When each flow, all begun at 0, ends.
std::map<uint32_t, double> run(Fluid& fluid) {
  std::map<uint32_t, double> ends;
  if (fluid.unsettled()) fluid.settle(0);
  while (fluid.next() < Fluid::kNever) {
    const double now = fluid.next();
    while (fluid.next() <= now * (1 + 1e-12))
      fluid.end_next(now, [&](uint32_t token, bool) { ends[token] = now; });
    if (fluid.unsettled()) fluid.settle(now);
  }
  return ends;
}

TEST(Fluid, FlowsOfOneLinkTakeTurns) {
  Table table;
  table.capacities = {100};
  for (int32_t i = 0; i < 8; i++) table.routes[{i, 99}] = {0};
  for (uint32_t flows : {1u, 2u, 7u, 8u}) {
    Fluid fluid(table);
    for (uint32_t i = 0; i < flows; i++) fluid.add(fluid.open(int32_t(i), 99, Fluid::kNever), 1000, i, 0);
    for (auto [token, end] : run(fluid)) EXPECT_NEAR(end, 10.0 * flows, 1e-9) << token;
    EXPECT_NEAR(fluid.use(0, 10 * flows).busy, 10 * flows, 1e-9);
    EXPECT_EQ(fluid.use(0, 0).most, flows);
  }
}

TEST(Fluid, FlowsOfOneRouteEndInTheOrderOfTheirBytes) {
  Table table;
  table.capacities = {1};
  table.routes[{0, 1}] = {0};
  Fluid fluid(table);
  const uint32_t bundle = fluid.open(0, 1, Fluid::kNever);
  fluid.add(bundle, 30, 0, 0), fluid.add(bundle, 10, 1, 0), fluid.add(bundle, 20, 2, 0);
  auto ends = run(fluid);
  EXPECT_NEAR(ends[1], 30, 1e-9);  // 10 of each
  EXPECT_NEAR(ends[2], 50, 1e-9);
  EXPECT_NEAR(ends[0], 60, 1e-9);
}

// Bertsekas & Gallager's own: a long flow held up in its narrowest link leaves the rest to others.
TEST(Fluid, WhoIsHeldUpElsewhereLeavesTheRest) {
  Table table;
  table.capacities = {1, 1, 2};
  table.routes[{0, 1}] = {0, 1, 2}, table.routes[{0, 2}] = {0}, table.routes[{0, 3}] = {1};
  table.routes[{0, 4}] = {1}, table.routes[{0, 5}] = {2};
  Fluid fluid(table);
  std::vector<uint32_t> bundles;
  for (int32_t to = 1; to <= 5; to++) {
    bundles.push_back(fluid.open(0, to, Fluid::kNever));
    fluid.add(bundles.back(), 1e6, uint32_t(to), 0);
  }
  fluid.settle(0);
  const double want[] = {1.0 / 3, 2.0 / 3, 1.0 / 3, 1.0 / 3, 5.0 / 3};
  for (size_t i = 0; i < 5; i++) EXPECT_NEAR(fluid.rate(bundles[i]), want[i], 1e-12) << i;
}

TEST(Fluid, CapsAndCuts) {
  Table table;
  table.capacities = {9};
  table.routes[{0, 1}] = {0}, table.routes[{0, 2}] = {0};
  Fluid fluid(table);
  const uint32_t slow = fluid.open(0, 1, 2), fast = fluid.open(0, 2, Fluid::kNever);
  fluid.add(slow, 100, 0, 0), fluid.add(fast, 100, 1, 0);
  fluid.settle(0);
  EXPECT_DOUBLE_EQ(fluid.rate(slow), 2);
  EXPECT_DOUBLE_EQ(fluid.rate(fast), 7);
  fluid.set_capacity(0, 3, 1);
  fluid.settle(1);
  EXPECT_DOUBLE_EQ(fluid.rate(slow), 1.5);
  EXPECT_EQ(fluid.dead_link(slow), Fluid::kNone);
  fluid.set_capacity(0, 0, 2);
  fluid.settle(2);
  EXPECT_EQ(fluid.next(), Fluid::kNever);
  EXPECT_EQ(fluid.dead_link(slow), 0u);
  fluid.set_capacity(0, 9, 5);
  fluid.settle(5);
  auto ends = run(fluid);
  EXPECT_NEAR(ends[1], 5 + (100 - 7 - 1.5) / 7, 1e-9);
}

// The plainest filling: raise all rates by what the tightest link allows, again and again.
std::vector<double> filled(const Table& table, const std::vector<std::vector<uint32_t>>& routes,
                           const std::vector<double>& caps) {
  std::vector<double> rates(routes.size(), 0);
  std::vector<bool> fixed(routes.size());
  for (;;) {
    double step = Fluid::kNever;
    std::vector<double> rest = table.capacities;
    std::vector<int> left(rest.size());
    for (size_t f = 0; f < routes.size(); f++) {
      for (uint32_t l : routes[f]) rest[l] -= rates[f], left[l] += !fixed[f];
      if (!fixed[f]) step = std::min(step, caps[f] - rates[f]);
    }
    for (size_t l = 0; l < rest.size(); l++)
      if (left[l] > 0) step = std::min(step, rest[l] / left[l]);
    if (std::find(fixed.begin(), fixed.end(), false) == fixed.end()) return rates;
    for (size_t f = 0; f < routes.size(); f++)
      if (!fixed[f]) rates[f] += step;
    for (size_t f = 0; f < routes.size(); f++) {
      if (fixed[f]) continue;
      fixed[f] = caps[f] - rates[f] < 1e-9;
      for (uint32_t l : routes[f])
        fixed[f] = fixed[f] || rest[l] - step * left[l] < 1e-9 * table.capacities[l];
    }
  }
}

TEST(Fluid, IsWhatPlainFillingFinds) {
  const uint32_t seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  auto below = [&](uint32_t n) { return uint32_t(random() % n); };
  for (int round = 0; round < 300; round++) {
    Table table;
    const uint32_t links = 1 + below(12), pairs = 1 + below(15);
    for (uint32_t i = 0; i < links; i++) table.capacities.push_back(1 + below(20));
    for (uint32_t i = 0; i < pairs; i++) {
      auto& way = table.routes[{int32_t(i), 0}];
      for (uint32_t l = 0; l < links; l++)
        if (below(3) == 0) way.push_back(l);
      if (way.empty()) way.push_back(below(links));
    }
    Fluid fluid(table);
    struct Flow {
      uint32_t pair, bundle;
    };
    std::vector<uint32_t> open(pairs, Fluid::kNone);
    std::vector<double> cap(pairs);
    std::map<uint32_t, Flow> alive;
    uint32_t token = 0;
    double now = 0;
    // Flows come and go; after each instant all rates are compared.
    for (int step = 0; step < 20; step++) {
      for (uint32_t k = below(4); k > 0; k--) {
        const uint32_t pair = below(pairs);
        if (open[pair] == Fluid::kNone) {
          cap[pair] = below(4) == 0 ? 1 + below(5) : Fluid::kNever;
          open[pair] = fluid.open(int32_t(pair), 0, cap[pair]);
        }
        fluid.add(open[pair], 1 + below(1000), token, now);
        alive[token++] = {pair, open[pair]};
      }
      if (fluid.unsettled()) fluid.settle(now);
      std::vector<std::vector<uint32_t>> routes;
      std::vector<double> caps, have;
      for (const auto& [id, flow] : alive) {
        routes.push_back(table.routes[{int32_t(flow.pair), 0}]);
        caps.push_back(cap[flow.pair]);
        have.push_back(fluid.rate(flow.bundle));
      }
      const auto want = filled(table, routes, caps);
      for (size_t i = 0; i < want.size(); i++) ASSERT_NEAR(have[i], want[i], 1e-7) << "seed " << seed;
      if (fluid.next() == Fluid::kNever) continue;
      now = fluid.next();
      fluid.end_next(now, [&](uint32_t id, bool gone) {
        if (gone) open[alive[id].pair] = Fluid::kNone;
        alive.erase(id);
      });
    }
  }
}

}  // namespace
}  // namespace plait::sim
