#include "perf/collective.h"

#include <algorithm>
#include <cstring>

namespace plait::perf {
namespace {

//                                          reduces root   parted uneven
constexpr Collective kCollectives[] = {{Kind::allreduce, "allreduce", true, false, false, false},
                                       {Kind::reduce, "reduce", true, true, false, false},
                                       {Kind::reduce_scatter, "reduce_scatter", true, false, true, false},
                                       {Kind::reduce_scatter, "reduce_scatterv", true, false, true, true},
                                       {Kind::allgather, "allgather", false, false, true, false},
                                       {Kind::allgather, "allgatherv", false, false, true, true},
                                       {Kind::broadcast, "broadcast", false, true, false, false},
                                       {Kind::gather, "gather", false, true, true, false},
                                       {Kind::gather, "gatherv", false, true, true, true},
                                       {Kind::scatter, "scatter", false, true, true, false},
                                       {Kind::scatter, "scatterv", false, true, true, true},
                                       {Kind::alltoall, "alltoall", false, false, true, false},
                                       {Kind::alltoall, "alltoallv", false, false, true, true},
                                       {Kind::barrier, "barrier", false, false, false, false}};

// The call, or the plan, of a collective with its own arguments.
plait_status invoke(const Case& c, plait_comm* comm, const Pointers& at, const plait_call_config* config,
                    plait_request** request, bool plan) {
  const plait_dtype t = c.dtype->id;
  const bool uneven = c.collective->uneven;
  const size_t* counts = at.counts.data();
  const size_t own = c.block(c.rank);
  auto either = [&](auto call, auto planned, auto... args) {
    return (plan ? planned : call)(comm, args..., config, request);
  };
  switch (c.collective->kind) {
    case Kind::allreduce:
      return either(plait_allreduce, plait_plan_allreduce, at.in, at.out, c.count, t, c.op->id);
    case Kind::reduce:
      return either(plait_reduce, plait_plan_reduce, at.in, at.out, c.count, t, c.op->id, c.root);
    case Kind::reduce_scatter:
      if (uneven)
        return either(plait_reduce_scatterv, plait_plan_reduce_scatterv, at.in, at.out, counts, t, c.op->id);
      return either(plait_reduce_scatter, plait_plan_reduce_scatter, at.in, at.out, c.count, t, c.op->id);
    case Kind::allgather:
      if (uneven) return either(plait_allgatherv, plait_plan_allgatherv, at.in, at.out, counts, nullptr, t);
      return either(plait_allgather, plait_plan_allgather, at.in, at.out, c.count, t);
    case Kind::broadcast:
      return either(plait_broadcast, plait_plan_broadcast, at.in, at.out, c.count, t, c.root);
    case Kind::gather:
      if (uneven)
        return either(plait_gatherv, plait_plan_gatherv, at.in, own, at.out, counts, nullptr, t, c.root);
      return either(plait_gather, plait_plan_gather, at.in, at.out, c.count, t, c.root);
    case Kind::scatter:
      if (uneven)
        return either(plait_scatterv, plait_plan_scatterv, at.in, counts, nullptr, at.out, own, t, c.root);
      return either(plait_scatter, plait_plan_scatter, at.in, at.out, c.count, t, c.root);
    case Kind::alltoall:
      if (uneven)
        return either(plait_alltoallv, plait_plan_alltoallv, at.in, counts, nullptr, at.out, counts, nullptr,
                      t);
      return either(plait_alltoall, plait_plan_alltoall, at.in, at.out, c.count, t);
    case Kind::barrier:
      return either(plait_barrier, plait_plan_barrier);
  }
  return PLAIT_ERR_INVALID;
}

}  // namespace

size_t Case::block(int to, int from) const {
  if (!collective->uneven) return count;
  // Blocks of an alltoall are alike both ways, so that it can be in place.
  const int k = collective->kind == Kind::alltoall ? (to + from) % ranks : to;
  if (k == ranks - 1 && ranks % 2 == 1) return count;
  return k % 2 == 0 ? count + count / 2 : count - count / 2;
}

size_t Case::begin(int to, int from) const {
  size_t sum = 0;
  for (int r = 0; r < to; ++r) sum += block(r, from);
  return sum;
}

const Collective* find_collective(std::string_view name) {
  for (const Collective& c : kCollectives) {
    if (name == c.name) return &c;
  }
  return nullptr;
}

const char* collective_names() {
  return "allreduce, reduce, reduce_scatter, reduce_scatterv, allgather, allgatherv, broadcast, gather, "
         "gatherv, "
         "scatter, scatterv, alltoall, alltoallv, barrier";
}

size_t count_for(const Collective& collective, const Dtype& dtype, int ranks, size_t bytes) {
  if (bytes == 0 || !collective.moves_data()) return 0;
  return std::max<size_t>(1, bytes / dtype.size / (collective.parted ? size_t(ranks) : 1));
}

double bus_factor(const Collective& collective, int ranks) {
  double others = double(ranks - 1) / ranks;
  if (collective.kind == Kind::allreduce) return 2 * others;
  return collective.parted ? others : 1;
}

Pointers place(const Case& c, std::byte* first, std::byte* second) {
  Pointers at{first, second};
  if (c.in_place) {
    const size_t own = c.begin(c.rank) * c.dtype->size;
    at = {c.gathers() ? second + own : second, c.scatters() ? second + own : second};
  }
  for (int r = 0; c.collective->uneven && r < c.ranks; ++r) at.counts.push_back(c.block(r, c.rank));
  return at;
}

plait_status call(const Case& c, plait_comm* comm, const Pointers& at, const plait_call_config* config,
                  plait_request** request) {
  return invoke(c, comm, at, config, request, false);
}

plait_status plan(const Case& c, plait_comm* comm, const Pointers& at, const plait_call_config* config,
                  plait_request** plan) {
  return invoke(c, comm, at, config, plan, true);
}

Pattern make_pattern(const Case& c, uint64_t seed) {
  std::optional<plait_op> op;
  if (c.collective->reduces) op = c.op->id;
  return {*c.dtype, op, c.ranks, seed};
}

void fill_input(const Case& c, const Pattern& pattern, const Pointers& at) {
  // So that an output that is never written is not right by chance.
  constexpr int kStale = 0xa5;
  if (c.gets()) std::memset(at.out, kStale, c.out_count() * c.dtype->size);
  if (c.gives()) pattern.fill(c.rank, 0, c.in_count(), at.in);
}

size_t count_wrong(const Case& c, const Pattern& pattern, const Pointers& at) {
  size_t wrong = 0;
  if (!c.in_place && c.gives()) wrong += pattern.wrong_copies(c.rank, 0, c.in_count(), at.in);
  if (!c.gets()) return wrong;
  auto part = [&](int rank) { return at.out + c.begin(rank, c.rank) * c.dtype->size; };
  switch (c.collective->kind) {
    case Kind::allgather:
    case Kind::gather:
      for (int r = 0; r < c.ranks; ++r) wrong += pattern.wrong_copies(r, 0, c.block(r), part(r));
      return wrong;
    case Kind::alltoall:
      for (int r = 0; r < c.ranks; ++r)
        wrong += pattern.wrong_copies(r, c.begin(c.rank, r), c.block(c.rank, r), part(r));
      return wrong;
    case Kind::broadcast:
      return wrong + pattern.wrong_copies(c.root, 0, c.count, at.out);
    case Kind::scatter:
      return wrong + pattern.wrong_copies(c.root, c.begin(c.rank), c.block(c.rank), at.out);
    case Kind::reduce_scatter:
      return wrong + pattern.wrong_results(c.begin(c.rank), c.block(c.rank), at.out);
    default:
      return wrong + pattern.wrong_results(0, c.count, at.out);
  }
}

}  // namespace plait::perf
