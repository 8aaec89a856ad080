#include "perf/collective.h"

#include <algorithm>
#include <cstring>

namespace plait::perf {
namespace {

constexpr Collective kCollectives[] = {{Kind::allreduce, "allreduce", true, false, true},
                                       {Kind::reduce_scatter, "reduce_scatter", true, false, true},
                                       {Kind::allgather, "allgather", false, false, true},
                                       {Kind::broadcast, "broadcast", false, true, true},
                                       {Kind::barrier, "barrier", false, false, false}};

// Where in the whole this rank's input begins. Ranks of an allgather put in the same indexes, each its own
// values.
size_t first_result(const Case& c) { return c.scatters() ? c.count * size_t(c.rank) : 0; }

bool gives_input(const Case& c) { return !c.collective->has_root || c.rank == c.root; }

}  // namespace

const Collective* find_collective(std::string_view name) {
  for (const Collective& c : kCollectives) {
    if (name == c.name) return &c;
  }
  return nullptr;
}

const char* collective_names() { return "allreduce, reduce_scatter, allgather, broadcast, barrier"; }

size_t count_for(const Collective& collective, const Dtype& dtype, int ranks, size_t bytes) {
  bool split = collective.kind == Kind::reduce_scatter || collective.kind == Kind::allgather;
  if (bytes == 0 || !collective.moves_data) return 0;
  return std::max<size_t>(1, bytes / dtype.size / (split ? size_t(ranks) : 1));
}

double bus_factor(const Collective& collective, int ranks) {
  double others = double(ranks - 1) / ranks;
  switch (collective.kind) {
    case Kind::allreduce:
      return 2 * others;
    case Kind::reduce_scatter:
    case Kind::allgather:
      return others;
    default:
      return 1;
  }
}

Pointers place(const Case& c, std::byte* first, std::byte* second) {
  if (!c.in_place) return {first, second};
  size_t own = c.count * size_t(c.rank) * c.dtype->size;
  return {c.gathers() ? second + own : second, c.scatters() ? second + own : second};
}

plait_status call(const Case& c, plait_comm* comm, const Pointers& at, const plait_call_config* config,
                  plait_request** request) {
  plait_dtype dtype = c.dtype->id;
  switch (c.collective->kind) {
    case Kind::allreduce:
      return plait_allreduce(comm, at.in, at.out, c.count, dtype, c.op->id, config, request);
    case Kind::reduce_scatter:
      return plait_reduce_scatter(comm, at.in, at.out, c.count, dtype, c.op->id, config, request);
    case Kind::allgather:
      return plait_allgather(comm, at.in, at.out, c.count, dtype, config, request);
    case Kind::broadcast:
      return plait_broadcast(comm, at.in, at.out, c.count, dtype, c.root, config, request);
    case Kind::barrier:
      return plait_barrier(comm, config, request);
  }
  return PLAIT_ERR_INVALID;
}

Pattern make_pattern(const Case& c, uint64_t seed) {
  std::optional<plait_op> op;
  if (c.collective->reduces) op = c.op->id;
  return {*c.dtype, op, c.ranks, seed};
}

void fill_input(const Case& c, const Pattern& pattern, const Pointers& at) {
  // So that an output that is never written is not right by chance.
  constexpr int kStale = 0xa5;
  std::byte* whole = c.in_place && c.gathers() ? at.in - c.count * size_t(c.rank) * c.dtype->size : at.out;
  std::memset(whole, kStale, c.out_count() * c.dtype->size);
  if (gives_input(c)) pattern.fill(c.rank, 0, c.in_count(), at.in);
}

size_t count_wrong(const Case& c, const Pattern& pattern, const Pointers& at) {
  size_t wrong = 0;
  if (!c.in_place && gives_input(c)) wrong += pattern.wrong_copies(c.rank, 0, c.in_count(), at.in);
  if (c.gathers()) {
    for (int rank = 0; rank < c.ranks; ++rank) {
      const std::byte* part = at.out + c.count * size_t(rank) * c.dtype->size;
      wrong += pattern.wrong_copies(rank, 0, c.count, part);
    }
    return wrong;
  }
  if (c.collective->has_root) return wrong + pattern.wrong_copies(c.root, 0, c.count, at.out);
  return c.collective->reduces ? wrong + pattern.wrong_results(first_result(c), c.count, at.out) : wrong;
}

}  // namespace plait::perf
