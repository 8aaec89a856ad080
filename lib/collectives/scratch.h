// Scratch slots: values that never live at the same time share one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/program.h"

namespace plait::collectives {

// Renumbers the scratch places of `steps`. `blocks` are the values that lie there, in slots of their own
// each, in ascending order with a gap between any two; no step touches two of them with one place. Returns
// how many slots are needed. A linear scan over the list: a slot is free again after the message in which its
// value is touched last, and is taken again as late as one spare slot allows, for each reuse is a step that
// must wait for another.
uint32_t allot_scratch(std::vector<Step>& steps, std::span<const Range> blocks);

}  // namespace plait::collectives
