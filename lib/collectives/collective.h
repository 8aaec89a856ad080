// The collectives: who contributes what, who gets what, and where chunks lie in the buffers of the call.
#pragma once

#include <cstdint>
#include <string_view>

#include "collectives/program.h"

namespace plait::collectives {

enum class Collective : uint8_t {
  allreduce,
  reduce_scatter,
  allgather,
  broadcast,
  reduce,
  gather,
  scatter,
  alltoall,
  barrier,
};
constexpr uint32_t kCollectives = uint32_t(Collective::barrier) + 1;

// "allreduce", ...; never empty for the values above.
std::string_view name_of(Collective collective) noexcept;

// True where contributions are folded, so that an operator matters.
constexpr bool reduces(Collective collective) noexcept {
  return collective == Collective::allreduce || collective == Collective::reduce_scatter ||
         collective == Collective::reduce;
}

// True where one rank is apart from the others.
constexpr bool rooted(Collective collective) noexcept {
  return collective == Collective::broadcast || collective == Collective::reduce ||
         collective == Collective::gather || collective == Collective::scatter;
}

// True where each rank owns a part of the vector, which may be as large as it likes: there is one chunk a
// rank.
constexpr bool parted(Collective collective) noexcept {
  return collective == Collective::reduce_scatter || collective == Collective::allgather ||
         collective == Collective::gather || collective == Collective::scatter ||
         collective == Collective::alltoall;
}

// The chunks of which `rank` of n has an input and an output, of a vector of `chunks` chunks:
//   allreduce        all, all
//   reduce_scatter   all, the rank's part (part r of n)
//   allgather        the rank's part, all
//   broadcast        all at the root and none elsewhere, all
//   reduce           all, all at the root and none elsewhere
//   gather           the rank's part, all at the root and none elsewhere
//   scatter          all at the root and none elsewhere, the rank's part
//   alltoall         all, all: chunk c of a rank is what travels c ranks far, so there are n
//   barrier          all, all: a chunk of no bytes
Range input_of(Collective collective, int n, int rank, int root, uint32_t chunks) noexcept;
Range output_of(Collective collective, int n, int rank, int root, uint32_t chunks) noexcept;

// The slot of the input or output buffer where a chunk lies on `rank` of n. It is the chunk itself, but in an
// alltoall: there the slot of an input is the rank that it goes to, (rank + chunk) mod n, and that of an
// output the one that it comes from, (rank - chunk) mod n. Both ends of a message so name the same chunk,
// whoever passes it on in between.
constexpr uint32_t slot_of(Collective collective, Buffer buffer, uint32_t n, uint32_t rank,
                           uint32_t chunk) noexcept {
  if (collective != Collective::alltoall) return chunk;
  return (buffer == Buffer::input ? rank + chunk : rank + n - chunk) % n;
}

}  // namespace plait::collectives
