// The ways to do a collective in a room: algorithms of the table, and compositions of them over the room's
// levels.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collectives/collective.h"
#include "sim/script.h"

namespace plait::sim {

struct Way {
  std::string name;
  uint32_t chunks = 1;
  std::function<Result<collectives::Program>(int32_t rank)> build;
};

// What is asked for: by ranks 0..n-1 of a room, in place.
struct Question {
  collectives::Collective collective = collectives::Collective::allreduce;
  int32_t ranks = 1;
  int32_t root = 0;
  // For collectives::Hierarchy::make: the hierarchy, innermost first, and the rank at each position (empty:
  // ranks are at their numbers).
  std::vector<std::vector<int>> levels = {};
  std::vector<int32_t> order = {};
  // The rank at each position of a ring over links that join its neighbours; empty: there is none, and why.
  std::vector<int32_t> ring = {};
  std::string no_ring = {};
};

// The way that is "ring" in the order of Question::ring.
inline constexpr std::string_view kRingOfLinks = "ring@links";

// "ring", "ring@links", or a name a level, innermost first: "ring/direct". With fewer names than levels the
// outermost ones are one. Code::unsupported, Code::invalid: as the table and Composition say.
Result<Way> find_way(const Question& question, const std::string& name);
// All rows that do it, then compositions of what is worth while, over two levels and over all.
std::vector<Way> all_ways(const Question& question);

// About how many messages a way takes, from some of its ranks.
Result<double> count_messages(const Way& way, int32_t ranks, uint32_t segments);

// The scripts of all ranks. `progress` is told the share that is made.
Status make_scripts(const Way& way, int32_t ranks, const Cut& cut, Scripts& scripts,
                    const std::function<bool(double share)>& progress = {});

// What nccl-tests multiply bytes a second with, to compare with what a link moves: 2 (n - 1) / n for an
// allreduce.
double bus_factor(collectives::Collective collective, int32_t ranks) noexcept;

}  // namespace plait::sim
