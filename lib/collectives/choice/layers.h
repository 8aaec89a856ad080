// How ranks lie, as a hierarchy of any number of levels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/choice/rooms.h"
#include "collectives/hierarchy.h"

namespace plait::collectives {

// Ranks in groups. Groups of one layer are whole inside groups of the next one.
struct Layer {
  LinkClass links = LinkClass::inside;  // what joins groups of the layer before inside of one of these
  std::vector<int32_t> group_of;        // of each rank
};

struct Layers {
  std::vector<Layer> list;  // innermost first; the last one is a single group of all; empty: one rank alone
  std::string note;         // what of the machine is left out, and why; empty: nothing is
  bool pods = false;        // the innermost groups are pods
};
// Pods, hosts and all, so far as they are nested and join something.
Layers layers_of(const Seating& seating);

// In which order ranks of a pod stand in their group.
enum class PodOrder : uint8_t {
  natural,  // of their numbers
  ring,     // Pod::ranks
  grid,     // Pod::grid; each of its dimensions is a level, the last one the innermost
};

// Layers as a hierarchy whose levels' links are `links`.
struct Seated {
  std::shared_ptr<const Hierarchy> hierarchy;  // null: there is no such order, or it is the natural one
  std::vector<LinkClass> links;
};
Seated seat_in(const Layers& layers, const Seating& seating, PodOrder order);

}  // namespace plait::collectives
