// The collectives that can be measured: sizes, buffers, the call, what comes out.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "perf/dtype.h"
#include "perf/pattern.h"
#include "plait/plait.h"

namespace plait::perf {

enum class Kind {
  allreduce,
  reduce,
  reduce_scatter,
  allgather,
  broadcast,
  gather,
  scatter,
  alltoall,
  barrier
};

struct Collective {
  Kind kind;
  const char* name;
  bool reduces, has_root;
  bool parted;  // ranks have blocks of their own
  bool uneven;  // of different sizes
  bool moves_data() const { return kind != Kind::barrier; }
};

// nullptr when there is none of that name.
const Collective* find_collective(std::string_view name);
// All names, for messages: "allreduce, reduce_scatter, ...".
const char* collective_names();

// One row of the table, as one rank sees it.
struct Case {
  const Collective* collective;
  const Dtype* dtype;
  const Op* op;  // meaningless when the collective does not reduce
  int rank, ranks, root;
  size_t count;  // as given to the call; uneven: of a block in the middle
  bool in_place;

  bool is_root() const { return rank == root; }
  // The buffer has all blocks.
  bool scatters() const {
    return collective->kind == Kind::reduce_scatter || collective->kind == Kind::scatter;
  }
  bool gathers() const { return collective->kind == Kind::allgather || collective->kind == Kind::gather; }
  // This rank puts something in, gets something out.
  bool gives() const {
    return (collective->kind != Kind::broadcast && collective->kind != Kind::scatter) || is_root();
  }
  bool gets() const {
    return collective->moves_data() &&
           ((collective->kind != Kind::reduce && collective->kind != Kind::gather) || is_root());
  }

  // Elements of the block of rank `to`; alltoall: that `from` has for it. Of two uneven neighbours one has
  // three times as many as the other, so that all blocks together are as long as even ones.
  size_t block(int to, int from = 0) const;
  // Of those before it.
  size_t begin(int to, int from = 0) const;
  size_t in_count() const { return gathers() ? block(rank) : most_count(); }
  size_t out_count() const { return scatters() ? block(rank) : most_count(); }
  size_t most_count() const { return collective->parted ? count * size_t(ranks) : count; }
  // The size of the row: of the larger of the two buffers.
  size_t bytes() const { return most_count() * dtype->size; }
};

// How many elements `bytes` is for the call: rounded down, but at least one unless bytes is 0.
size_t count_for(const Collective& collective, const Dtype& dtype, int ranks, size_t bytes);

// Bus bandwidth is this times algorithm bandwidth: what the slowest link must have carried at least.
double bus_factor(const Collective& collective, int ranks);

struct Pointers {
  std::byte* in;
  std::byte* out;
  std::vector<size_t> counts = {};  // uneven: of the blocks of all ranks; alltoall: of those here
};
// Where the call finds its data, in two buffers of `bytes()` each; in place: in the second one.
Pointers place(const Case& c, std::byte* first, std::byte* second);

plait_status call(const Case& c, plait_comm* comm, const Pointers& at, const plait_call_config* config,
                  plait_request** request);
// As a persistent plan, which keeps nothing of `at` but the pointers.
plait_status plan(const Case& c, plait_comm* comm, const Pointers& at, const plait_call_config* config,
                  plait_request** plan);

Pattern make_pattern(const Case& c, uint64_t seed);
// Puts this rank's input where the call finds it.
void fill_input(const Case& c, const Pattern& pattern, const Pointers& at);
// Elements of this rank's output that are wrong; out of place, also elements of the input that were changed.
size_t count_wrong(const Case& c, const Pattern& pattern, const Pointers& at);

}  // namespace plait::perf
