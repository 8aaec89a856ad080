// What is predicted, and how it compares.
#include <algorithm>
#include <vector>

#include "collectives/algorithms.h"
#include "collectives/machine/cost.h"
#include "costs_table.h"
#include "nccl-tuner/costs.h"

namespace plait::nccl::tuner {
namespace {

using collectives::Collective;

constexpr uint64_t kKiB = 1 << 10, kMiB = 1 << 20, kGiB = 1 << 30;
constexpr auto kTree = size_t(Way::tree), kRing = size_t(Way::ring), kPat = size_t(Way::pat);
constexpr auto kLl = size_t(Protocol::ll), kSimple = size_t(Protocol::simple);

// 10 GB/s and 5 us, and nothing of the cores.
Network plain_network() {
  Network network;
  network.delivery = {.latency = 5e-6, .byte = 1e-10, .piece = 64 * kKiB};
  return network;
}

Times times_of(Hosts hosts, Collective collective, uint64_t bytes, const Network& network = plain_network(),
               const Overheads& o = overheads(nullptr)) {
  const auto times = Model(network, o, hosts).times(collective, bytes);
  EXPECT_TRUE(times.ok()) << times.status().text();
  return times.ok() ? *times : Times{};
}

double best(const Times& times, size_t way) {
  return *std::min_element(times[way].begin(), times[way].end());
}

TEST(TunerModel, RingsAreForLargeVectorsAndFewHosts) {
  for (Hosts hosts : {Hosts{4, 4}, Hosts{4, 32}, Hosts{16, 128}}) {
    const Times large = times_of(hosts, Collective::allreduce, kGiB);
    EXPECT_LT(best(large, kRing), best(large, kTree)) << hosts.hosts;
    EXPECT_EQ(best(large, kRing), large[kRing][kSimple]) << hosts.hosts;
  }
}

TEST(TunerModel, TreesAreForSmallVectorsAndManyHosts) {
  for (Hosts hosts : {Hosts{16, 16}, Hosts{64, 512}, Hosts{1000, 8000}}) {
    const Times small = times_of(hosts, Collective::allreduce, 4 * kKiB);
    EXPECT_LT(best(small, kTree), best(small, kRing)) << hosts.hosts;
    EXPECT_EQ(best(small, kTree), small[kTree][kLl]) << hosts.hosts;
  }
}

// How much less a tree's time grows with hosts.
TEST(TunerModel, TreesGrowAsLogarithms) {
  const Times few = times_of({32, 32}, Collective::allreduce, 64);
  const Times many = times_of({1024, 1024}, Collective::allreduce, 64);
  EXPECT_LT(many[kTree][kLl], 2.2 * few[kTree][kLl]);
  EXPECT_GT(many[kRing][kLl], 25 * few[kRing][kLl]);
}

TEST(TunerModel, LargerVectorsNeverCostLess) {
  for (Hosts hosts : {Hosts{2, 2}, Hosts{3, 7}, Hosts{8, 64}, Hosts{40, 320}, Hosts{24, 24}}) {
    for (auto collective : {Collective::allreduce, Collective::reduce_scatter, Collective::allgather,
                            Collective::broadcast, Collective::reduce}) {
      Times before;
      for (auto& row : before) row.fill(-1);
      for (uint64_t bytes = 1; bytes <= 4 * kGiB; bytes *= 4) {
        const Times now = times_of(hosts, collective, bytes);
        for (size_t w = 0; w < kWays; w++)
          for (size_t p = 0; p < size_t(tuner_protocols); p++) {
            EXPECT_GE(now[w][p], before[w][p] < 0 ? -1 : before[w][p] * .999)
                << hosts.hosts << " hosts, " << hosts.ranks << " ranks, " << name_of(collective) << ", way "
                << w << ", protocol " << p << ", " << bytes << " bytes";
          }
        before = now;
      }
    }
  }
}

TEST(TunerModel, KnowsWhatNcclHas) {
  const Times allreduce = times_of({4, 4}, Collective::allreduce, kMiB);
  EXPECT_LT(allreduce[kPat][kSimple], 0);
  const Times gather = times_of({4, 4}, Collective::allgather, kMiB);
  EXPECT_GT(gather[kPat][kSimple], 0);
  EXPECT_LT(gather[kPat][kLl], 0);
  EXPECT_LT(gather[kTree][kSimple], 0);
  EXPECT_LT(times_of({4, 8}, Collective::allgather, kMiB)[kPat][kSimple], 0);  // one rank a host
  EXPECT_GT(times_of({4, 8}, Collective::broadcast, kMiB)[kRing][kLl], 0);
}

// LL carries half as many bytes, LL128 120 of 128; with nothing else to tell them apart times are in
// proportion.
TEST(TunerModel, ProtocolsCostTheirBytes) {
  const Times t = times_of({2, 2}, Collective::allreduce, kGiB, plain_network(), Overheads{});
  EXPECT_NEAR(t[kRing][kLl] / t[kRing][kSimple], 2, .05);
  EXPECT_NEAR(t[kRing][size_t(Protocol::ll128)] / t[kRing][kSimple], 128.0 / 120, .03);
  EXPECT_NEAR(t[kRing][kSimple], kGiB * 1e-10, .02 * kGiB * 1e-10);  // 2 (n - 1) / n of the vector
}

// Jobs that are too large to be simulated: what two small ones tell of them is what the cost machine finds.
TEST(TunerModel, LargeRingsAreWhatTheCostMachineFinds) {
  for (int n : {4, 12, 24}) {
    const auto* ring = collectives::find_algorithm(Collective::allreduce, "ring");
    std::vector<collectives::Program> programs;
    collectives::Room room;
    room.ranks = n;
    for (int r = 0; r < n; r++) {
      programs.push_back(ring->build(n, r, 0, false));
      room.host_of.push_back(r);
    }
    room.inside.deliveries = room.between.deliveries = {plain_network().delivery};
    room.windows = 8;
    for (uint64_t bytes : {kKiB, kMiB, 64 * kMiB}) {
      const auto sizes = collectives::even_sizes(bytes, ring->chunks(n), 512 * kKiB);
      const auto found = collectives::cost(programs, sizes, room);
      ASSERT_TRUE(found.ok()) << found.status().text();
      const Times t = times_of({n, n}, Collective::allreduce, bytes, plain_network(), Overheads{});
      EXPECT_NEAR(t[kRing][kSimple], found->seconds, .05 * found->seconds)
          << n << " ranks, " << bytes << " bytes";
    }
  }
}

// More ranks of a host take 2 (m - 1) steps of a chain more along a tree, and nothing else.
TEST(TunerModel, ATreeIsAChainInsideOfHosts) {
  Overheads o{};
  o.inside[kTree][kSimple] = 3e-6;
  const Times two = times_of({8, 16}, Collective::allreduce, 1, plain_network(), o);
  const Times eight = times_of({8, 64}, Collective::allreduce, 1, plain_network(), o);
  EXPECT_NEAR(eight[kTree][kSimple] - two[kTree][kSimple], 12 * 3e-6, 1e-9);
}

TEST(TunerModel, TakesNcclsConstants) {
  TunerConstantsV5 constants{};
  constants.base_latency[1][2] = 100;
  constants.link_latency[link_network][0][2] = -5;  // no time: the default
  const Overheads o = overheads(&constants);
  EXPECT_DOUBLE_EQ(o.call[kRing][kSimple], 100e-6);
  EXPECT_DOUBLE_EQ(o.between[kTree][kSimple], 14e-6);
  EXPECT_DOUBLE_EQ(o.between[kRing][kSimple], 0);
}

TEST(TunerCosts, LieOnTheLineBetweenPowersOfTwo) {
  const Model model(plain_network(), overheads(nullptr), {4, 8});
  Costs costs(model);
  const auto low = model.times(Collective::allreduce, kMiB),
             high = model.times(Collective::allreduce, 2 * kMiB);
  const auto third = costs.times(Collective::allreduce, kMiB + kMiB / 4, 1);
  ASSERT_TRUE(low.ok() && high.ok() && third.ok());
  EXPECT_NEAR((*third)[kRing][kSimple], (*low)[kRing][kSimple] * .75 + (*high)[kRing][kSimple] * .25, 1e-12);
  EXPECT_LT((*third)[kPat][kSimple], 0);
  for (uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 45, UINT64_MAX})
    EXPECT_TRUE(costs.times(Collective::reduce, bytes, 1).ok()) << bytes;
  EXPECT_FALSE(costs.times(Collective::alltoall, 1, 1).ok());
}

// A group of operations runs as one; a ring does its steps for each.
TEST(TunerCosts, RingsTakeTheirStepsForEachOfAGroup) {
  Costs costs(Model(plain_network(), overheads(nullptr), {4, 8}));
  const auto none = costs.times(Collective::allreduce, 0, 1),
             one = costs.times(Collective::allreduce, kMiB, 1),
             three = costs.times(Collective::allreduce, kMiB, 3),
             odd = costs.times(Collective::allreduce, kMiB, -7);
  ASSERT_TRUE(none.ok() && one.ok() && three.ok() && odd.ok());
  EXPECT_NEAR((*three)[kRing][kLl], (*one)[kRing][kLl] + 2 * (*none)[kRing][kLl], 1e-12);
  EXPECT_EQ((*three)[kTree][kLl], (*one)[kTree][kLl]);
  EXPECT_EQ((*odd)[kRing][kLl], (*one)[kRing][kLl]);
}

}  // namespace
}  // namespace plait::nccl::tuner
