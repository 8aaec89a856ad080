#include "collectives/algorithms.h"

#include <algorithm>
#include <cstdlib>

#include "base/log.h"
#include "collectives/algorithm/direct.h"
#include "collectives/algorithm/dissemination.h"
#include "collectives/algorithm/ring.h"
#include "collectives/algorithm/star.h"

namespace plait::collectives {

namespace {

bool any_number(int n) { return n >= 1; }
uint32_t one_each(int n) { return uint32_t(n); }
uint32_t one(int) { return 1; }

constexpr Algorithm kTable[] = {
    {.name = "ring",
     .collective = Collective::allreduce,
     .min_credits = {0, 0},
     .rank_order = false,
     .accepts = any_number,
     .chunks = one_each,
     .append = [](Builder& b, const Group& g, int, Range all) { ring_allreduce(b, g, all); },
     .summary = "reduce-scatter and allgather around a ring; for large messages"},
    {.name = "direct",
     .collective = Collective::allreduce,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = any_number,
     .chunks = one_each,
     .append = [](Builder& b, const Group& g, int, Range all) { direct_allreduce(b, g, all); },
     .summary = "each rank folds a share of everybody's values and sends it to all; two rounds, rounds once"},
    {.name = "all_to_all",
     .collective = Collective::allreduce,
     .min_credits = {0, 1},
     .rank_order = true,
     .accepts = any_number,
     .chunks = one,
     .append = [](Builder& b, const Group& g, int, Range all) { all_to_all_allreduce(b, g, all); },
     .summary = "everybody sends everything to all and folds it; one round, for small messages"},
    {.name = "ring",
     .collective = Collective::reduce_scatter,
     .min_credits = {0, 0},
     .rank_order = false,
     .accepts = any_number,
     .chunks = one_each,
     .append = [](Builder& b, const Group& g, int,
                  Range all) { ring_reduce_scatter(b, g, split(all, g.n())); },
     .summary = "n-1 rounds around a ring"},
    {.name = "direct",
     .collective = Collective::reduce_scatter,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = any_number,
     .chunks = one_each,
     .append = [](Builder& b, const Group& g, int,
                  Range all) { direct_reduce_scatter(b, g, split(all, g.n())); },
     .summary = "each rank folds its share of everybody's values; one round, rounds once"},
    {.name = "ring",
     .collective = Collective::allgather,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = any_number,
     .chunks = one_each,
     .append = [](Builder& b, const Group& g, int, Range all) { ring_allgather(b, g, split(all, g.n())); },
     .summary = "n-1 rounds around a ring"},
    {.name = "direct",
     .collective = Collective::allgather,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = any_number,
     .chunks = one_each,
     .append = [](Builder& b, const Group& g, int, Range all) { direct_allgather(b, g, split(all, g.n())); },
     .summary = "each rank sends its block to all; one round"},
    {.name = "star",
     .collective = Collective::broadcast,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = any_number,
     .chunks = one,
     .append = [](Builder& b, const Group& g, int root, Range all) { star_broadcast(b, g, root, all); },
     .summary = "the root sends to all"},
    {.name = "dissemination",
     .collective = Collective::barrier,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = any_number,
     .chunks = one,
     .append = [](Builder& b, const Group& g, int, Range all) { dissemination_barrier(b, g, all.first); },
     .summary = "ceil(log2 n) rounds of messages without bytes"},
};

}  // namespace

std::string_view name_of(Collective collective) noexcept {
  switch (collective) {
    case Collective::allreduce:
      return "allreduce";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::allgather:
      return "allgather";
    case Collective::broadcast:
      return "broadcast";
    case Collective::barrier:
      return "barrier";
  }
  return "unknown collective";
}

Range input_of(Collective collective, int n, int rank, int root, uint32_t chunks) noexcept {
  Range all{0, chunks};
  if (collective == Collective::allgather) return part(all, n, rank);
  if (collective == Collective::broadcast && rank != root) return {};
  return all;
}

Range output_of(Collective collective, int n, int rank, int /*root*/, uint32_t chunks) noexcept {
  Range all{0, chunks};
  return collective == Collective::reduce_scatter ? part(all, n, rank) : all;
}

Program Algorithm::build(int n, int rank, int root, bool in_place) const {
  uint32_t count = chunks(n);
  Builder b(rank, count, input_of(collective, n, rank, root, count),
            output_of(collective, n, rank, root, count));
  append(b, world(n, rank), root, {0, count});
  Result<Program> program = b.finish(in_place);
  if (!program.ok()) {  // a bug in the algorithm, which the proofs of all of them rule out
    log::error("{} {}: {}", name, name_of(collective), program.status().text());
    std::abort();
  }
  program->min_credits = n > 1 ? min_credits[in_place] : 0;
  program->rank_order = rank_order || n == 1;
  return std::move(*program);
}

std::span<const Algorithm> algorithms() noexcept { return kTable; }

const Algorithm* find_algorithm(Collective collective, std::string_view name) noexcept {
  auto* found = std::find_if(std::begin(kTable), std::end(kTable), [&](const Algorithm& algorithm) {
    return algorithm.collective == collective && algorithm.name == name;
  });
  return found == std::end(kTable) ? nullptr : found;
}

}  // namespace plait::collectives
