#include "collectives/collective.h"

#include "collectives/group.h"

namespace plait::collectives {

std::string_view name_of(Collective collective) noexcept {
  constexpr std::string_view kNames[] = {"allreduce", "reduce_scatter", "allgather", "broadcast", "reduce",
                                         "gather",    "scatter",        "alltoall",  "barrier"};
  static_assert(std::size(kNames) == kCollectives);
  return uint32_t(collective) < kCollectives ? kNames[uint32_t(collective)] : "unknown collective";
}

Range input_of(Collective collective, int n, int rank, int root, uint32_t chunks) noexcept {
  switch (collective) {
    case Collective::allgather:
    case Collective::gather:
      return part({0, chunks}, n, rank);
    case Collective::broadcast:
    case Collective::scatter:
      return rank == root ? Range{0, chunks} : Range{};
    default:
      return {0, chunks};
  }
}

Range output_of(Collective collective, int n, int rank, int root, uint32_t chunks) noexcept {
  switch (collective) {
    case Collective::reduce_scatter:
    case Collective::scatter:
      return part({0, chunks}, n, rank);
    case Collective::reduce:
    case Collective::gather:
      return rank == root ? Range{0, chunks} : Range{};
    default:
      return {0, chunks};
  }
}

}  // namespace plait::collectives
