// The simulator against the cost machine, and against what is written on paper.
#include <cmath>

#include "collectives/compose.h"
#include "collectives/machine/cost.h"
#include "sim/engine.h"
#include "sim/networks.h"
#include "unit/collectives/programs.h"

namespace plait::sim {
namespace {

using namespace collectives;

constexpr double kExact = 1e-9;

Outcome run(std::span<const Program> programs, const Sizes& sizes, const Network& network,
            const Parameters& p) {
  Scripts scripts;
  const Cut cut(sizes);
  for (const Program& program : programs) {
    const Status status = scripts.add(program, int32_t(programs.size()), cut);
    EXPECT_TRUE(status.ok()) << status.text();
  }
  auto outcome = simulate(scripts, cut, network, p);
  EXPECT_TRUE(outcome.ok()) << outcome.status().text();
  if (!outcome.ok()) return {};
  EXPECT_TRUE(outcome->stuck.empty());
  EXPECT_NEAR(outcome->path.total(), outcome->seconds, outcome->seconds * 1e-6);
  for (const RankUse& use : outcome->ranks)
    EXPECT_NEAR(use.computing + use.sending + use.waiting, use.finish, outcome->seconds * 1e-6);
  return std::move(*outcome);
}

Parameters textbook(double alpha, double beta, double gamma) {
  Parameters p;
  p.endpoint.gap = alpha, p.endpoint.byte = beta, p.endpoint.fold = gamma;
  return p;
}

// Every row of the table, in the room of textbooks: the same model, so the same number.
TEST(CostMachine, IsWhatTheSimulatorIsOnAnIdealNetwork) {
#ifdef PLAIT_SANITIZED
  constexpr int kMost = 9;  // twenty times as slow
#else
  constexpr int kMost = 16;
#endif
  constexpr double kAlpha = 3e-6, kBeta = 1e-9, kGamma = 2.5e-10;
  for (const Algorithm& a : algorithms()) {
    for (int n = 1; n <= kMost; n++) {
      if (!a.accepts(n)) continue;
      for (bool in_place : {false, true}) {
        for (uint64_t bytes : {uint64_t{0}, uint64_t{1000}, uint64_t{4800} * a.chunks(n)}) {
          const auto programs = programs_of(a, n, in_place, n / 2);
          const Sizes sizes = even_sizes(bytes, a.chunks(n));
          auto want = cost(programs, sizes, textbook_room(n, kAlpha, kBeta, kGamma));
          ASSERT_TRUE(want.ok());
          const Outcome have = run(programs, sizes, *ideal_network(n), textbook(kAlpha, kBeta, kGamma));
          const std::string where =
              std::string(a.name) + " " + std::string(name_of(a.collective)) + " of " + std::to_string(n);
          EXPECT_NEAR(have.seconds, want->seconds, want->seconds * kExact) << where;
          EXPECT_EQ(have.messages, want->messages) << where;
          for (int r = 0; r < n; r++)
            EXPECT_NEAR(have.ranks[size_t(r)].finish, want->finish[size_t(r)], want->seconds * kExact)
                << where;
        }
      }
    }
  }
}

// Segments through a window, cores that take time.
TEST(CostMachine, IsWhatTheSimulatorIsWithSegments) {
  Room room = textbook_room(8, 1e-6, 1e-9, 1e-10);
  room.copy = 2e-10;
  room.inside.deliveries[0].send = 3e-7, room.inside.deliveries[0].recv = 4e-7;
  room.inside.deliveries[0].send_byte = 1e-10, room.inside.deliveries[0].recv_byte = 5e-11;
  Parameters p = textbook(1e-6, 1e-9, 1e-10);
  p.endpoint.copy = 2e-10, p.endpoint.send = 3e-7, p.endpoint.recv = 4e-7;
  p.endpoint.send_byte = 1e-10, p.endpoint.recv_byte = 5e-11;
  for (const char* name : {"ring", "double_tree", "star", "direct", "multi_ring"}) {
    const Algorithm& a = algorithm(Collective::allreduce, name);
    const auto programs = programs_of(a, 8, true);
    for (uint64_t segment : {1000U, 333U}) {
      const Sizes sizes = even_sizes(uint64_t{10'000} * a.chunks(8) - 7, a.chunks(8), segment);
      bool single = true;
      for (const Program& program : programs)
        for (const Step& s : program.steps) single = single && s.count == 1;
      if (!single) continue;  // the cost machine cuts those otherwise
      auto want = cost(programs, sizes, room);
      EXPECT_NEAR(run(programs, sizes, *ideal_network(8), p).seconds, want->seconds, want->seconds * kExact)
          << name;
    }
  }
}

// On networks whose links are the only cost, and where no two messages meet in one.
constexpr double kCapacity = 1e9, kLatency = 2e-6, kFold = 3e-10;

Outcome on(const Network& network, const char* name, uint64_t bytes) {
  const Algorithm& a = algorithm(Collective::allreduce, name);
  const int n = network.terminals();
  Parameters p;
  p.endpoint.fold = kFold, p.endpoint.engines = 0;
  return run(programs_of(a, n, true), even_sizes(bytes, a.chunks(n)), network, p);
}

TEST(Papers, RingOnARing) {
  for (int n : {2, 3, 8, 17}) {
    const uint64_t bytes = uint64_t(n) * 10'000;
    const double share = 10'000;
    const double want = 2 * (n - 1) * (kLatency + share / kCapacity) + (n - 1) * share * kFold;
    const Outcome o = on(*lattice({n}, true, {kCapacity, kLatency}), "ring", bytes);
    EXPECT_NEAR(o.seconds, want, want * kExact) << n;
    // Each upward link has carried all steps.
    if (n > 2) {
      EXPECT_NEAR(o.links[0].bytes, 2 * (n - 1) * share, 1e-6);
    }
  }
}

// Row by row and column by column, of a thousand places: each shard goes around its row, then its column, and
// back.
TEST(Papers, TwoRingsOnATorus) {
  auto torus = lattice({32, 32}, true, {kCapacity, kLatency});
  auto hierarchy = Hierarchy::make({{32}, {32}});
  auto rings = Composition::make(Collective::allreduce, "ring/ring", std::move(*hierarchy));
  ASSERT_TRUE(rings.ok()) << rings.status().text();
  const double row = 32'000 / kCapacity, column = 1000 / kCapacity;
  Scripts scripts;
  const Cut cut(even_sizes(1'024'000, rings->chunks()));
  for (int r = 0; r < 1024; r++) ASSERT_TRUE(scripts.add(*rings->build(r, 0, true), 1024, cut).ok());
  Parameters p;
  p.endpoint.fold = kFold;
  auto o = simulate(scripts, cut, *torus, p);
  ASSERT_TRUE(o.ok()) << o.status().text();
  const double want = 62 * (2 * kLatency + row + column) + 31 * 33'000 * kFold;
  EXPECT_NEAR(o->seconds, want, want * kExact);
  EXPECT_EQ(o->messages, 1024u * 4 * 31);
}

// A star of cables: each pair of partners has links of its own.
TEST(Papers, ButterfliesBehindOneSwitch) {
  for (int n : {2, 4, 8, 16, 32}) {
    const uint64_t bytes = uint64_t(n) * 10'000;
    const double m = double(bytes), rounds = std::log2(n);
    auto network = clos({.leaves = 1, .hosts = n, .inside = {1e300, 0}, .nic = {kCapacity, kLatency / 2}});
    const double doubling = rounds * (kLatency + m / kCapacity + m * kFold);
    EXPECT_NEAR(on(*network, "recursive_doubling", bytes).seconds, doubling, doubling * kExact) << n;
    const double share = m * (n - 1) / n;
    const double halving = 2 * rounds * kLatency + 2 * share / kCapacity + share * kFold;
    for (const char* name : {"rabenseifner", "swing", "bine"})
      EXPECT_NEAR(on(*network, name, bytes).seconds, halving, halving * kExact) << name << " of " << n;
  }
}

// Swing on its own network: partners of a step are 1, 1, 3, 5, 11, ... apart on a ring, so messages of step k
// share links as soon as they are further than one apart.
TEST(Papers, SwingOnARing) {
  const int n = 8;
  const uint64_t bytes = 80'000;
  double want = 0;
  const double distance[] = {1, 1, 3};
  for (int k = 0; k < 3; k++) {
    const double part = double(bytes) / std::exp2(k + 1);
    // Every message of a step goes distance[k] links, all upward from even ranks and downward from odd ones,
    // or the other way: a link carries those of (distance + 1) / 2 ranks.
    const double flows = (distance[k] + 1) / 2;
    want += 2 * (distance[k] * kLatency + part * flows / kCapacity) + part * kFold;
  }
  EXPECT_NEAR(on(*lattice({n}, true, {kCapacity, kLatency}), "swing", bytes).seconds, want, want * kExact);
}

// Behind a switch: lg n rounds, each rank sends to one at a time.
TEST(Papers, ABinomialTree) {
  for (int n : {2, 4, 8, 16}) {
    auto network = clos({.leaves = 1, .hosts = n, .inside = {1e300, 0}, .nic = {kCapacity, kLatency / 2}});
    const Algorithm& a = algorithm(Collective::broadcast, "binomial");
    Parameters p;
    p.endpoint.engines = 1;
    const double want = std::log2(n) * 1e6 / kCapacity + std::log2(n) * kLatency;
    const double have = run(programs_of(a, n, true), even_sizes(1'000'000, a.chunks(n)), *network, p).seconds;
    EXPECT_NEAR(have, want, want * kExact) << n;
  }
}

// n flows over one link take n times as long: everybody sends to rank 0.
TEST(Contention, FlowsOfOneLinkTakeTurns) {
  for (int n : {2, 3, 5, 9, 33}) {
    auto network = clos({.leaves = 1, .hosts = n, .inside = {1e300, 0}, .nic = {kCapacity, 0}});
    const Algorithm& a = algorithm(Collective::gather, "linear");
    Parameters p;
    const auto programs = programs_of(a, n, true);
    const double want = (n - 1) * 1e6 / kCapacity;
    const Outcome o = run(programs, even_sizes(uint64_t{1'000'000} * a.chunks(n), a.chunks(n)), *network, p);
    EXPECT_NEAR(o.seconds, want, want * kExact) << n;
    if (n > 2) {
      EXPECT_NEAR(o.path[Path::sharing], want - 1e6 / kCapacity, want * 1e-6);
    }
  }
}

}  // namespace
}  // namespace plait::sim
