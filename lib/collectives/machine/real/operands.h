// The first half of lowering: what each step of a program folds once chains and values that are read once are
// pulled into the steps that read them (docs/program.md, peephole d), by who wrote what.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/machine/real/schedule.h"

namespace plait::collectives::real {

constexpr uint32_t kNoStep = ~0u;

// Of each step:
struct Operands {
  std::vector<std::vector<Source>> of;  // what it folds, in order; what it sends or copies
  std::vector<uint32_t> merged;         // the step that it was pulled into, or kNoStep
  std::vector<uint32_t> ordinal;        // which message of its stream it is
  std::vector<Place> sized_by;          // a slot of the input or output as long as what it moves, or kNowhere
};

// Is the step one of several of its message?
bool is_piece(const Program& program, uint32_t step);

// Of a program whose steps are in bounds.
Operands find_operands(const Program& program);

}  // namespace plait::collectives::real
