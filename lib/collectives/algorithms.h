// The table of algorithms: for each collective the programs that can do it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "collectives/builder.h"
#include "collectives/collective.h"
#include "collectives/program.h"

namespace plait::collectives {

struct Algorithm {
  std::string_view name;
  Collective collective;
  // Credits that a stream must have for two ranks or more, out of place and in place: 0 fits unbuffered
  // delivery, 1 means that each stream buffers a whole message (rule 5). One rank alone needs none.
  uint8_t min_credits[2];
  // Folds in the order of ranks, for any n: fit for operators that do not commute.
  bool rank_order;
  // Every chunk is folded 0..n-1 as one declared chain: all such algorithms give the same bits, whatever n is
  // made of (rule 8).
  bool deterministic = false;
  // Every rank exchanges messages with every other. With `deterministic`: fit for the commons
  // (machine/real/commons.h).
  bool all_meet = false;
  // Each result is encoded by one rank, or by none, when messages are (coded.h): fit for codecs that lose
  // something, since all ranks hold the same bits.
  bool one_wire = true;
  // Lanes that steps of any rank may use, 0 up to lanes - 1: all ranks share out their streams alike.
  uint32_t lanes = 1;
  // Whether there is a program for n ranks.
  bool (*accepts)(int n);
  // Into how many chunks it cuts the vector.
  uint32_t (*chunks)(int n);
  // Appends the steps of the group's member `me`. Where the collective is parted() the members own the
  // blocks; others take blocks.all() as a whole.
  void (*append)(Builder& b, const Group& g, int root, const Blocks& blocks);
  std::string_view summary;

  // The program of one rank, with lanes, min_credits and rank_order set. n >= 1, accepts(n), 0 <= rank < n, 0 <=
  // root < n (rooted collectives only; others ignore it). Any thread.
  Program build(int n, int rank, int root, bool in_place) const;
};

// All of them, by collective. The same addresses for the life of the process.
std::span<const Algorithm> algorithms() noexcept;

// nullptr when there is none of that name for that collective.
const Algorithm* find_algorithm(Collective collective, std::string_view name) noexcept;

}  // namespace plait::collectives
