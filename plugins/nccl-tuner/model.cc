#include "model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "collectives/algorithm/pipeline.h"
#include "collectives/algorithms.h"
#include "collectives/compose.h"
#include "collectives/machine/cost.h"

namespace plait::nccl::tuner {
namespace {

using collectives::Collective;
using collectives::Program;
using collectives::Room;

// Facts of NCCL's protocols: bytes on the wire for each of data, and the most data of one step (its buffers'
// eighth: 4 MiB of Simple; LL's lines of 8 bytes of 16; LL128's of 120 of 128).
struct Wire {
  double bytes_each;
  uint64_t step;
};
constexpr Wire kWires[tuner_protocols] = {{2, 32 << 10}, {128.0 / 120, 576'000}, {1, 512 << 10}};
constexpr uint32_t kWindows = 8;  // steps under way at a time

// Trees and chains are cut so that all of their links are busy, unless pieces get too small for that.
constexpr uint64_t kPieces = 8, kLeastPiece = 8 << 10;

// Long vectors repeat themselves: of more segments than the latter these two tell what one more takes.
constexpr uint32_t kSome = 10, kMore = 14;

// How a program grows with hosts and their ranks, to tell large jobs from small ones of the same kind.
struct Growth {
  int few_hosts, many_hosts;  // up to `many` all are simulated
  int few_ranks, many_ranks;  // of a host, likewise; alike: more lengthen a chain there and back
  bool same_block;            // rank by rank the same bytes, not in all
  bool logarithmic;           // with hosts
};
constexpr Growth kRing{3, 5, 2, 4, true, false}, kChain{3, 5, 2, 4, false, false},
    kPat{8, 16, 1, 1, true, false}, kTree{8, 16, 2, 2, false, true};

struct Job {
  Collective collective;
  Way way;
  std::string_view row;  // of plait's table
  Growth growth;
  uint64_t step;
  Room room;  // but for the ranks
};

// Pieces of so many bytes follow each other.
uint64_t pieces_of(uint64_t bytes) { return std::clamp<uint64_t>(bytes / kLeastPiece, 1, kPieces); }

Room room_of(const Network& network, double inside, double between, double bytes_each) {
  Room room;
  room.inside.deliveries = {{.latency = inside}};  // rates there are taken to be no limit
  collectives::Delivery d = network.delivery;
  d.latency += between;
  d.byte *= bytes_each, d.send_byte *= bytes_each, d.recv_byte *= bytes_each;
  room.between.deliveries = {d};
  room.windows = kWindows;
  return room;
}

// What NCCL's tree is inside of a host is a chain, whose first rank is in both trees.
Result<std::vector<Program>> tree_programs(int hosts, int per_host, uint32_t& chunks) {
  auto hierarchy = collectives::Hierarchy::make({{per_host}, {hosts}});
  if (!hierarchy.ok()) return hierarchy.status();
  const auto tree =
      collectives::Composition::make(Collective::allreduce, "pipeline/double_tree", std::move(*hierarchy));
  if (!tree.ok()) return tree.status();
  chunks = tree->chunks();
  std::vector<Program> programs;
  for (int r = 0; r < tree->n(); r++) {
    auto program = tree->build(r, 0, false);
    if (!program.ok()) return program.status();
    programs.push_back(std::move(*program));
  }
  return programs;
}

// The table's chain cuts by its length; this one by the bytes, however long it is.
Result<std::vector<Program>> chain_programs(Collective collective, int n, uint32_t chunks) {
  std::vector<Program> programs;
  for (int r = 0; r < n; r++) {
    collectives::Builder b(collective, n, r, 0, chunks);
    const auto all = collectives::world(n, r);
    if (collective == Collective::reduce)
      collectives::pipeline_reduce(b, all, 0, {0, chunks});
    else
      collectives::pipeline_broadcast(b, all, 0, {0, chunks});
    auto program = b.finish(false);
    if (!program.ok()) return program.status();
    programs.push_back(std::move(*program));
  }
  return programs;
}

Result<std::vector<Program>> programs_of(const Job& job, int hosts, int per_host, uint64_t bytes,
                                         uint32_t& chunks) {
  if (job.way == Way::tree && per_host > 1) return tree_programs(hosts, per_host, chunks);
  if (collectives::rooted(job.collective)) {
    chunks = uint32_t(pieces_of(bytes));
    return chain_programs(job.collective, hosts * per_host, chunks);
  }
  const auto* row = collectives::find_algorithm(job.collective, job.row);
  const int n = hosts * per_host;
  if (row == nullptr || !row->accepts(n))
    return Status(Code::internal,
                  "no program " + std::string(job.row) + " of " + std::to_string(n) + " ranks");
  chunks = row->chunks(n);
  std::vector<Program> programs;
  for (int r = 0; r < n; r++) programs.push_back(row->build(n, r, 0, false));
  return programs;
}

// Of a chunk, at a time.
uint64_t segment_of(const Job& job, uint64_t bytes, uint32_t chunks) {
  if (job.way != Way::tree) return job.step;
  const uint64_t chunk = bytes / chunks;
  return std::clamp<uint64_t>(chunk / pieces_of(chunk), 1, job.step);
}

// In the cost machine.
Result<double> simulate(const Job& job, int hosts, int per_host, uint64_t bytes) {
  uint32_t chunks = 1;
  const auto programs = programs_of(job, hosts, per_host, bytes, chunks);
  if (!programs.ok()) return programs.status();
  Room room = job.room;
  room.ranks = hosts * per_host;
  for (int r = 0; r < room.ranks; r++) room.host_of.push_back(r / per_host);
  const auto sizes = collectives::even_sizes(bytes, chunks, segment_of(job, bytes, chunks));
  const auto seconds = [&](uint32_t segments) -> Result<double> {
    auto front = sizes;
    if (segments < sizes.segments) {
      front.segments = segments;
      front.chunk = segments * sizes.segment;
      front.all = front.chunk * chunks;
    }
    auto cost = collectives::cost(*programs, front, room);
    if (!cost.ok()) return cost.status();
    return cost->seconds;
  };
  if (sizes.segments <= kMore) return seconds(sizes.segments);
  const auto some = seconds(kSome), more = seconds(kMore);
  if (!some.ok() || !more.ok()) return some.ok() ? more : some;
  return *more + (*more - *some) * double(sizes.segments - kMore) / (kMore - kSome);
}

double along(double from, double to, double x) { return from + (to - from) * x; }

uint64_t bytes_for(const Job& job, uint64_t bytes, int64_t all, int64_t some) {
  return job.growth.same_block ? uint64_t(double(bytes) / double(all) * double(some)) : bytes;
}

// `bytes` are of `hosts` hosts with so many ranks each.
Result<double> of_ranks(const Job& job, int hosts, int per_host, uint64_t bytes) {
  const Growth& g = job.growth;
  if (per_host <= g.many_ranks) return simulate(job, hosts, per_host, bytes);
  if (g.few_ranks == g.many_ranks) {
    const auto seconds = simulate(job, hosts, g.many_ranks, bytes);
    if (!seconds.ok()) return seconds;
    return *seconds + 2 * (per_host - g.many_ranks) * job.room.inside.deliveries.front().latency;
  }
  const auto few = simulate(job, hosts, g.few_ranks, bytes_for(job, bytes, per_host, g.few_ranks));
  const auto many = simulate(job, hosts, g.many_ranks, bytes_for(job, bytes, per_host, g.many_ranks));
  if (!few.ok() || !many.ok()) return few.ok() ? many : few;
  return along(*few, *many, double(per_host - g.few_ranks) / (g.many_ranks - g.few_ranks));
}

Result<double> of_hosts(const Job& job, const Hosts& hosts, uint64_t bytes) {
  const Growth& g = job.growth;
  const int per_host = hosts.per_host();
  if (hosts.hosts <= g.many_hosts) return of_ranks(job, hosts.hosts, per_host, bytes);
  const auto few = of_ranks(job, g.few_hosts, per_host, bytes_for(job, bytes, hosts.hosts, g.few_hosts));
  const auto many = of_ranks(job, g.many_hosts, per_host, bytes_for(job, bytes, hosts.hosts, g.many_hosts));
  if (!few.ok() || !many.ok()) return few.ok() ? many : few;
  const auto x = [&](int count) { return g.logarithmic ? std::log2(double(count)) : double(count); };
  return along(*few, *many, (x(hosts.hosts) - x(g.few_hosts)) / (x(g.many_hosts) - x(g.few_hosts)));
}

// NCCL has a tree for allreduce alone, PAT for what is parted, where each host has one rank.
bool exists(Collective collective, Way way, const Hosts& hosts) {
  const bool parted = collectives::parted(collective);
  if (way == Way::tree) return collective == Collective::allreduce;
  return way == Way::ring || (parted && hosts.ranks == hosts.hosts);
}

bool is_time(double t) { return std::isfinite(t) && t >= 0 && t < 1e6; }

// NCCL's ring of what has a root is a chain.
Job job_of(Collective collective, Way way) {
  Job job{.collective = collective, .way = way, .row = "ring", .growth = kRing, .step = 0, .room = {}};
  if (way == Way::tree) {
    job.row = "double_tree", job.growth = kTree;
  } else if (way == Way::pat) {
    job.row = "pat", job.growth = kPat;
  } else if (collectives::rooted(collective)) {
    job.row = "", job.growth = kChain;
  }
  return job;
}

}  // namespace

// The defaults are those of NCCL 2.24 to 2.30; it has none for PAT with LL.
Overheads overheads(const TunerConstantsV5* constants) {
  constexpr double kMicrosecond = 1e-6;
  Overheads o{.call = {{{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {8.0, 8.0, 8.0}}},
              .inside = {{{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 4.0}}},
              .between = {{{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}, {0, 0, 14.0}}}};
  for (size_t w = 0; w < kWays; w++) {
    const auto row = size_t(kRows[w]);
    for (size_t p = 0; p < tuner_protocols; p++) {
      const auto take = [&](double& to, double given) {
        if (constants != nullptr && is_time(given)) to = given;
        to *= kMicrosecond;
      };
      const auto* c = constants;
      take(o.call[w][p], c != nullptr ? c->base_latency[row][p] : 0);
      take(o.inside[w][p], c != nullptr ? c->link_latency[link_nvlink][row][p] : 0);
      take(o.between[w][p], c != nullptr ? c->link_latency[link_network][row][p] : 0);
    }
  }
  return o;
}

Result<double> Model::time(Collective collective, Way way, Protocol protocol, uint64_t bytes) const {
  const auto w = size_t(way), p = size_t(protocol);
  // Where each host has one rank nothing hides a step between hosts; NCCL then takes the tree's.
  const size_t shown = hosts_.ranks == hosts_.hosts && way == Way::ring ? size_t(Way::tree) : w;
  Job job = job_of(collective, way);
  job.step = kWires[p].step;
  job.room = room_of(network_, overheads_.inside[w][p], overheads_.between[shown][p], kWires[p].bytes_each);
  auto seconds = of_hosts(job, hosts_, bytes);
  if (!seconds.ok()) return seconds;
  if (way == Way::pat) {  // NCCL, too, puts small blocks of several trees into one message
    job.row = "pat_16";
    const auto together = of_hosts(job, hosts_, bytes);
    if (!together.ok()) return together;
    seconds = std::min(*seconds, *together);
  }
  return *seconds + overheads_.call[w][p];
}

Result<Times> Model::times(Collective collective, uint64_t bytes) const {
  Times all;
  for (size_t w = 0; w < kWays; w++) {
    for (size_t p = 0; p < tuner_protocols; p++) {
      all[w][p] = -1;
      if (!exists(collective, Way(w), hosts_) || (Way(w) == Way::pat && Protocol(p) != Protocol::simple))
        continue;
      const auto seconds = time(collective, Way(w), Protocol(p), bytes);
      if (!seconds.ok()) return seconds.status();
      all[w][p] = *seconds;
    }
  }
  return all;
}

}  // namespace plait::nccl::tuner
