// One thing at a time: credits, engines, segments, who is slow, what breaks, and that a seed is a run.
#include "sim/engine.h"

#include <cstdio>
#include <random>

#include "sim/networks.h"
#include "sim/report.h"
#include "unit/collectives/programs.h"

namespace plait::sim {
namespace {

using namespace collectives;

constexpr double kExact = 1e-9;

struct Job {
  std::vector<Program> programs;
  uint64_t bytes = 0;  // of a chunk
  uint64_t segment = UINT64_MAX;
  Parameters parameters = {};
  std::vector<Change> changes = {};
};

Result<Outcome> try_run(const Job& job, const Network& network) {
  Scripts scripts;
  const uint32_t chunks = job.programs[0].chunks;
  const Cut cut(even_sizes(job.bytes * chunks, chunks, job.segment));
  for (const Program& p : job.programs) {
    if (Status s = scripts.add(p, int32_t(job.programs.size()), cut); !s.ok()) return s;
  }
  return simulate(scripts, cut, network, job.parameters, job.changes);
}

Outcome run(const Job& job, const Network& network) {
  auto outcome = try_run(job, network);
  EXPECT_TRUE(outcome.ok()) << outcome.status().text();
  return outcome.ok() ? std::move(*outcome) : Outcome{};
}

std::vector<Program> ring_of(int n) { return programs_of(algorithm(Collective::allreduce, "ring"), n, true); }

// Rank 0 sends `count` messages to rank 1.
std::vector<Program> stream(uint32_t count) {
  return programs_of(Collective::broadcast, 2, count, true, [&](Builder& b, const Group& g) {
    for (uint32_t i = 0; i < count; i++)
      if (g.me == 0)
        b.send(1, Range{i, 1});
      else
        b.recv(0, Range{i, 1});
  });
}

TEST(Engine, MessagesOfAStreamFollowEachOther) {
  auto line = lattice({2}, false, {100, 3});
  for (uint32_t engines : {0u, 1u, 4u}) {
    Job job{stream(5), 50};
    job.parameters.endpoint.engines = engines;
    EXPECT_NEAR(run(job, *line).seconds, 5 * 0.5 + 3, kExact);
  }
}

TEST(Engine, CreditsHoldASenderBack) {
  auto line = lattice({2}, false, {100, 0});
  Job job{stream(10), 100};
  job.parameters.endpoint.recv = 4;
  EXPECT_NEAR(run(job, *line).ranks[0].finish, 10, kExact);
  EXPECT_NEAR(run(job, *line).seconds, 1 + 40, kExact);
  job.parameters.credits = 1;  // one to send, one to take, again and again
  EXPECT_NEAR(run(job, *line).seconds, 10 * 5, kExact);
  EXPECT_NEAR(run(job, *line).ranks[0].finish, 46, kExact);
  job.parameters.credits = 2;
  EXPECT_NEAR(run(job, *line).seconds, 1 + 40, kExact);
  EXPECT_LT(run(job, *line).ranks[0].finish, 40);
}

TEST(Engine, EnginesAreMessagesAtATime) {
  auto cube = hybrid_cube_mesh({100, 0});
  auto star = programs_of(Collective::scatter, 8, 8, true, [](Builder& b, const Group& g) {
    for (uint32_t i = 1; i < 4; i++) {
      if (g.me == 0) b.send(int(i), Range{i, 1});
      if (uint32_t(g.me) == i) b.recv(0, Range{i, 1});
    }
  });
  Job job{star, 100};
  for (auto [engines, seconds] :
       {std::pair(1u, 3.0), std::pair(2u, 2.0), std::pair(3u, 1.0), std::pair(0u, 1.0)}) {
    job.parameters.endpoint.engines = engines;
    EXPECT_NEAR(run(job, *cube).seconds, seconds, kExact) << engines;
  }
}

TEST(Engine, ASwitchMovesSoMuchInAll) {
  const auto exchange = programs_of(algorithm(Collective::alltoall, "pairwise"), 4, true);
  Job job{exchange, 1000};
  job.parameters.endpoint.engines = 0;
  auto seconds = [&](double capacity) {
    return run(job, *clos({.hosts = 4, .inside = {1e300, 0}, .nic = {100, 0}, .leaf_capacity = capacity}))
        .seconds;
  };
  EXPECT_NEAR(seconds(0), 30, 1e-6);
  EXPECT_NEAR(seconds(400), 30, 1e-6);  // all four at once
  EXPECT_NEAR(seconds(100), 120, 1e-6);
}

TEST(Engine, SegmentsMoveTheSameBytes) {
  auto torus = lattice({4, 4}, true, {1e9, 1e-6});
  for (const char* name : {"ring", "swing", "rabenseifner", "double_tree", "direct"}) {
    const Algorithm& a = algorithm(Collective::allreduce, name);
    Job job{programs_of(a, 16, true), 10'007};
    auto bytes = [&] {
      double sum = 0;
      for (const auto& use : run(job, *torus).links) sum += use.bytes;
      return sum;
    };
    const double whole = bytes();
    for (uint64_t segment : {5000U, 3000U, 1U}) {
      if (segment == 1 && a.chunks(16) > 2) continue;
      job.segment = segment == 1 ? 999 : segment;
      EXPECT_NEAR(bytes(), whole, 1e-3) << name;
    }
  }
}

TEST(Engine, ASlowRankSlowsTheRing) {
  auto ring = lattice({8}, true, {1e9, 0});
  Job job{ring_of(8), 1000};
  job.parameters.endpoint.fold = 1e-9;
  const double step = 1e-6, before = run(job, *ring).seconds;
  EXPECT_NEAR(before, 14 * step + 7 * step, 21 * step * kExact);
  job.changes = {{Change::Kind::slow, 0, 3, 5}};
  const Outcome slow = run(job, *ring);
  // The first message, its seven folds, seven steps of the allgather.
  EXPECT_NEAR(slow.seconds, (1 + 7 * 5 + 7) * step, 43 * step * kExact);
  EXPECT_EQ(slow.ranks[4].waits_for, 3);
  job.changes = {{Change::Kind::link, 0, 2, .5}};  // 1->2
  EXPECT_GT(run(job, *ring).seconds, before * 1.3);
}

TEST(Engine, JitterOnlyAdds) {
  auto ring = lattice({8}, true, {1e9, 1e-6});
  Job job{ring_of(8), 1000};
  job.parameters.endpoint.fold = 1e-9, job.parameters.endpoint.send = 1e-6;
  const double base = run(job, *ring).seconds;
  job.parameters.jitter = 0.5;
  for (uint64_t seed : {1U, 2U, 3U}) {
    job.parameters.seed = seed;
    const double shaken = run(job, *ring).seconds;
    EXPECT_GT(shaken, base);
    EXPECT_LT(shaken, base * 1.5);
  }
}

std::string json_of(const Job& job, const Network& network) {
  Report report;
  report.room = "torus", report.way = "ring";
  report.parameters = job.parameters;
  report.network = &network;
  report.question.ranks = int32_t(job.programs.size());
  report.outcome = run(job, network);
  return to_json(report);
}

TEST(Engine, ASeedIsARun) {
  auto torus = lattice({4, 4}, true, {1e9, 1e-6});
  Job job{programs_of(algorithm(Collective::allreduce, "swing"), 16, true), 1000};
  job.parameters.jitter = 0.3, job.parameters.latency = 1e-6, job.parameters.endpoint.send = 1e-7;
  const std::string first = json_of(job, *torus);
  EXPECT_EQ(json_of(job, *torus), first);
  job.parameters.seed = 2;
  EXPECT_NE(json_of(job, *torus), first);
}

TEST(Engine, SaysWhoIsDeadAndWhoWaits) {
  auto ring = lattice({8}, true, {1e9, 1e-6});
  Job job{ring_of(8), 1000};
  job.changes = {{Change::Kind::dead, 5e-6, 3, 0}};
  const Outcome o = run(job, *ring);
  ASSERT_EQ(o.stuck.size(), 8u);
  for (const Stuck& s : o.stuck) {
    EXPECT_EQ(s.dead, s.rank == 3);
    EXPECT_EQ(s.link, kNone);
    if (!s.dead) {
      EXPECT_EQ(s.peer, (s.rank + 7) % 8);
    }
  }
  EXPECT_GT(o.seconds, 0);
  job.changes[0].at = 1;  // long after the end
  EXPECT_TRUE(run(job, *ring).stuck.empty());
}

TEST(Engine, SaysWhichLinkHoldsWhom) {
  auto ring = lattice({8}, true, {1e9, 1e-6});
  Job job{ring_of(8), 1000};
  const auto links = find_links(*ring, "2-3");
  for (uint32_t link : *links) job.changes.push_back({Change::Kind::link, 5e-6, link, 0});
  const Outcome o = run(job, *ring);
  ASSERT_EQ(o.stuck.size(), 8u);
  EXPECT_EQ(name_of(*ring, o.stuck[2].link), "2->3");
  EXPECT_EQ(o.stuck[3].peer, 2);
  // A barrier's messages have no bytes, and do not get over it either.
  Job barrier{programs_of(algorithm(Collective::barrier, "dissemination"), 8, true), 0};
  barrier.changes = job.changes;
  for (Change& c : barrier.changes) c.at = 0;
  EXPECT_FALSE(run(barrier, *ring).stuck.empty());
}

TEST(Engine, RoutesAroundWhatIsCutTakeLonger) {
  auto make = [] { return lattice({8}, true, {1e9, 1e-6}); };
  Job job{ring_of(8), 1000};
  const double before = run(job, *make()).seconds;
  auto links = find_links(*make(), "2-3");
  const Outcome o = run(job, *around(make(), *links));
  EXPECT_TRUE(o.stuck.empty());
  EXPECT_GT(o.seconds, before + 6e-6);
}

TEST(Engine, ProgramsOfARingAreOne) {
  Scripts scripts;
  const Cut cut(even_sizes(1024, 16));
  for (const Program& p : ring_of(16)) ASSERT_TRUE(scripts.add(p, 16, cut).ok());
  EXPECT_EQ(scripts.distinct(), 1u);
}

TEST(Engine, RefusesWhatDoesNotMatch) {
  auto line = lattice({2}, false, {1, 0});
  Job job{stream(2), 8};
  job.programs[1] = stream(1)[1];
  EXPECT_NE(try_run(job, *line)
                .status()
                .text()
                .find("rank 0 sends 2 messages to rank 1 on lane 0, which expects 1"),
            std::string_view::npos);
  job = {stream(1), 8};
  job.programs[0].steps[0].peer = 7;
  EXPECT_NE(try_run(job, *line).status().text().find("no such peer"), std::string_view::npos);
  job = {ring_of(4), 8};
  EXPECT_FALSE(try_run(job, *line).ok());  // two places
  job = {stream(1), 8};
  job.parameters.endpoint.fold = -1;
  EXPECT_FALSE(try_run(job, *line).ok());
}

// Whatever the algorithm, network and parameters: no link carries more than it can, and a run is as long as
// what it was made of.
TEST(Engine, KeepsToWhatLinksCan) {
  const uint32_t seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  auto below = [&](uint32_t n) { return uint32_t(random() % n); };
  for (int round = 0; round < 150; round++) {
    std::vector<std::unique_ptr<Network>> networks;
    networks.push_back(lattice({4, 2}, below(2) == 0, {1e9, 1e-6}));
    networks.push_back(hybrid_cube_mesh({1e9, 0}));
    networks.push_back(clos({.leaves = 2,
                             .hosts = 2,
                             .chips = 2,
                             .nics = int32_t(1 + below(2)),
                             .nic = {1e9, 1e-6},
                             .oversubscribed = 1.0 + below(3),
                             .leaf_capacity = below(2) * 2e9}));
    const Network& network = *networks[below(3)];
    const Algorithm& a = algorithms()[below(uint32_t(algorithms().size()))];
    if (!a.accepts(8)) continue;
    Job job{programs_of(a, 8, below(2) == 0), below(100'000), 1 + below(60'000)};
    job.parameters.endpoint.engines = below(4), job.parameters.credits = below(3);
    job.parameters.endpoint.fold = below(2) * 1e-10, job.parameters.endpoint.byte = below(2) * 2e-9;
    job.parameters.jitter = below(2) * 0.2, job.parameters.seed = random();
    job.parameters.windows = 1 + below(4);
    const Outcome o = run(job, network);
    const std::string where = std::string(a.name) + ", seed " + std::to_string(seed);
    ASSERT_TRUE(o.stuck.empty()) << where;
    ASSERT_NEAR(o.path.total(), o.seconds, o.seconds * 1e-6 + 1e-12) << where;
    for (uint32_t i = 0; i < o.links.size(); i++) {
      ASSERT_LE(o.links[i].bytes, network.link(i).capacity * o.links[i].busy * (1 + 1e-6) + 1e-3) << where;
      ASSERT_LE(o.links[i].busy, o.seconds * (1 + 1e-9) + 1e-12) << where;
    }
    for (const RankUse& use : o.ranks)
      ASSERT_NEAR(use.computing + use.sending + use.waiting, use.finish, o.seconds * 1e-6 + 1e-12) << where;
  }
}

}  // namespace
}  // namespace plait::sim
