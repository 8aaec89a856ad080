// Which network joins which ranks: what they tell each other of theirs, and what all conclude from it alike.
// Functions of bytes and of what was said alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "runtime/fabric.h"
#include "transport/module.h"

namespace plait::runtime {

// A network of a rank, as it tells the others of it.
struct OpenNetwork {
  bool open = false;         // false: it could not be had
  double bandwidth_Bps = 0;  // of a link each way; 0: not known
  int32_t chip = -1;         // that it is of; -1: of none
  Bytes identity;            // of the domain
};

// What ranks tell each other first.
struct NetworkCard {
  std::string kind;                   // what must be alike on all ranks (kind_of)
  std::vector<OpenNetwork> networks;  // by alternative
};
Bytes encode(const NetworkCard& card);
// False: it is no card of this version.
bool decode(ByteView message, NetworkCard& card);

// What they tell then: of each network which rank is the lowest that it reaches, and of links between chips.
struct ReachCard {
  struct One {
    int32_t lowest = -1;  // itself where it reaches none before; -1: the network is not open
    // Told by the lowest one of a group only: those between chips of its pod.
    std::vector<transport::ChipLink> links;
  };
  std::vector<One> networks;  // by alternative
};
inline constexpr uint32_t kMostChip = 1u << 16;       // no chip has a larger number
inline constexpr uint32_t kMostChipLinks = 1u << 15;  // of a pod that are told
Bytes encode(const ReachCard& card);
// False: it is no card of this version, or says what cannot be.
bool decode(ByteView message, ReachCard& card);

// Ranks that a network of chips joins.
struct ChipGroup {
  std::vector<int32_t> ranks;  // ascending
  std::vector<int32_t> chips;  // of each
  std::vector<transport::ChipLink> links;
};

// Who reaches whom, as all ranks know it.
struct Reach {
  size_t before_shm = 0;                       // networks that are tried before shared memory
  std::vector<int32_t> host_of;                // by rank
  std::vector<std::vector<int32_t>> lowest;    // by network and rank: equal where it joins two; -1: not open
  std::vector<std::vector<ChipGroup>> groups;  // by network: those of two ranks or more, by lowest rank

  // What joins two ranks; nothing: no network does. The last network is taken to join all that have it.
  std::optional<Way> way(int32_t a, int32_t b) const noexcept;
};

// What the cards of all ranks say. Code::version names the rank whose card cannot be.
Result<Reach> conclude(size_t before_shm, std::vector<int32_t> host_of, const std::vector<NetworkCard>& cards,
                       std::vector<ReachCard> reach);

}  // namespace plait::runtime
