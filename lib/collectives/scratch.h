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
// value is touched last, and is taken again only when another message has freed some since: each reuse is a
// step that must wait for another, and what is received next must not wait for what is sent just before it.
//
// `stages` are the steps at which an algorithm begins, in ascending order: those of a composition are
// appended one after the other. Inside a stage slots are shared as if it ran alone, so that a composition
// needs no more credits than its algorithms: what an earlier stage left is free when the next one begins, and
// not before, since a receive that waits until a value which came from there is sent closes a circle around
// the ranks of a symmetric exchange.
uint32_t allot_scratch(std::vector<Step>& steps, std::span<const Range> blocks,
                       std::span<const uint32_t> stages = {});

}  // namespace plait::collectives
