// The table of algorithms: for each collective the programs that can do it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "collectives/builder.h"
#include "collectives/program.h"

namespace plait::collectives {

enum class Collective : uint8_t { allreduce, reduce_scatter, allgather, broadcast, barrier };

// "allreduce", ...; never empty for the values above.
std::string_view name_of(Collective collective) noexcept;

// True where contributions are folded, so that an operator matters.
constexpr bool reduces(Collective collective) noexcept {
  return collective == Collective::allreduce || collective == Collective::reduce_scatter;
}

// The chunks of which `rank` of n has an input and an output, of a vector of `chunks` chunks:
//   allreduce        all, all
//   reduce_scatter   all, the rank's part (part r of n)
//   allgather        the rank's part, all
//   broadcast        all at the root and none elsewhere, all
//   barrier          all, all: a chunk of no bytes
Range input_of(Collective collective, int n, int rank, int root, uint32_t chunks) noexcept;
Range output_of(Collective collective, int n, int rank, int root, uint32_t chunks) noexcept;

struct Algorithm {
  std::string_view name;
  Collective collective;
  // Credits that a stream must have for two ranks or more, out of place and in place: 0 fits unbuffered
  // delivery, 1 means that each stream buffers a whole message (rule 5). One rank alone needs none.
  uint8_t min_credits[2];
  // Folds in the order of ranks, for any n: fit for operators that do not commute.
  bool rank_order;
  // Whether there is a program for n ranks.
  bool (*accepts)(int n);
  // Into how many chunks it cuts the vector.
  uint32_t (*chunks)(int n);
  // Appends the steps of the group's member `me` for the chunks `all`.
  void (*append)(Builder& b, const Group& g, int root, Range all);
  std::string_view summary;

  // The program of one rank, with min_credits and rank_order set. n >= 1, accepts(n), 0 <= rank < n, 0 <=
  // root < n (broadcast only; others ignore it). Any thread.
  Program build(int n, int rank, int root, bool in_place) const;
};

// All of them; those of a collective are adjacent and the first is a sound default.
std::span<const Algorithm> algorithms() noexcept;

// nullptr when there is none of that name for that collective.
const Algorithm* find_algorithm(Collective collective, std::string_view name) noexcept;

}  // namespace plait::collectives
