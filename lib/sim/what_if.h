// What if: things that go wrong, in words.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "sim/parameters.h"
#include "sim/places.h"

namespace plait::sim {

struct WhatIf {
  std::vector<Change> changes;
  std::vector<uint32_t> cut;  // links that are not there from the beginning: routes go around them
};

// Adds what `text` says:
//   cut link 3-4              both directions; routes go around it
//   cut link 3-4 at 2 ms      from then on what crosses it stands still
//   slow link 3-4 to 25 %     of its capacity; with "at 2 ms" from then on
//   slow host 2 by 3          each core there takes 3 times as long, and so does each port
//   slow rank 5 by 1.5
//   kill rank 5 at 1 ms       from then on it does nothing; without a time it never did
// Code::invalid: not understood, or not in this room. Hosts are those of the room.
Status read_what_if(const std::string& text, const Places& places, WhatIf& what_if);

}  // namespace plait::sim
