// Admission: what a program set of strangers must pass before it may run.
#pragma once

#include <array>
#include <string>

#include "collectives/exchange/set.h"

namespace plait::collectives::exchange {

// A proved program set: an algorithm for one number of ranks, and one root where there is one. A planner may
// take it as it takes a row of the table.
struct Admitted {
  // min_credits and rank_order of its programs are what was proved, whatever the file says.
  ProgramSet set;
  // Each chunk is folded as one declared chain (rule 8), out of place and in place: as was proved, too.
  bool deterministic[2] = {false, false};

  // Whether it is fit for such a call.
  bool fits(Collective collective, int32_t ranks, int32_t root, bool in_place) const noexcept;
  // The program of one rank, where fits(): lives as long as this.
  const Program& program(int32_t rank, bool in_place) const noexcept {
    return set.programs[in_place][size_t(rank)];
  }
  uint8_t min_credits(bool in_place) const noexcept { return program(0, in_place).min_credits; }
  // Fit for operators that do not commute.
  bool rank_order(bool in_place) const noexcept { return program(0, in_place).rank_order; }
};

// Proves each variant of the set with the symbolic machine. Refused, Code::invalid, with the file, the line
// and what prove() says where one is not what it claims to be.
Result<Admitted> admit(ProgramSet set);

// The set of a file: JSON, or where its first character is a '<', MSCCL XML. Checked as from_json() and
// from_msccl() say, not proved.
Result<ProgramSet> load(const std::string& path, const Limits& limits = {});

// load() and admit(). Any thread; takes time and memory as the program has steps.
Result<Admitted> admit_file(const std::string& path, const Limits& limits = {});

}  // namespace plait::collectives::exchange
