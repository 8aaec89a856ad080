#include "collectives/exchange/method.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "collectives/chunkwise.h"
#include "collectives/machine/symbolic.h"

namespace plait::collectives::exchange {

namespace {

// What was found to hold, whichever of the programs runs.
struct Found {
  uint8_t min_credits = 0;
  bool rank_order = true, deterministic = true;

  void add(const Proof& proof) {
    min_credits = std::max(min_credits, proof.min_credits);
    rank_order = rank_order && proof.rank_order;
    deterministic = deterministic && proof.deterministic;
  }
};

Status prove_again(const ProgramSet& set, bool in_place, std::vector<Program> programs, const char* how,
                   Found& found) {
  const Proof proof = prove({set.collective, set.root}, programs);
  if (!proof.status.ok()) {
    const Status status(proof.status.code(), fmt::format("{} ({})", proof.status.text(), how));
    return located(set, in_place, status);
  }
  found.add(proof);
  return {};
}

// As it is written, and as it runs where chunks are large.
Status prove_both(const ProgramSet& set, bool in_place, const std::vector<Program>& programs, const char* how,
                  Found& found) {
  PLAIT_TRY(prove_again(set, in_place, programs, how, found));
  std::vector<Program> apart;
  apart.reserve(programs.size());
  for (const Program& p : programs) apart.push_back(chunkwise(p));
  return prove_again(set, in_place, std::move(apart), "each chunk by itself", found);
}

// The others have no more than one of the two buffers: for them it makes no difference, and they do not know.
std::vector<Program> with_root_in_place(const ProgramSet& set) {
  std::vector<Program> programs = set.programs[false];
  for (Program& p : programs) {
    p.in_place = true;
    if (p.rank == set.root) p = set.programs[true][size_t(set.root)];
  }
  return programs;
}

uint32_t lanes_of(const ProgramSet& set) {
  uint32_t lanes = 1;
  for (const auto& programs : set.programs) {
    for (const Program& p : programs) {
      for (const Step& s : p.steps) lanes = std::max(lanes, s.lane + 1u);
    }
  }
  return lanes;
}

}  // namespace

Result<Method> method_of(std::shared_ptr<const Admitted> admitted) {
  const ProgramSet& set = admitted->set;
  const bool one_apart = rooted(set.collective);
  Method m{.name = lasting(set.name),
           .summary = lasting(set.origin.file.empty() ? "imported" : "imported from " + set.origin.file),
           .collective = set.collective,
           .ranks = set.ranks(),
           .chunks = set.chunks(),
           .lanes = lanes_of(set),
           .mixes = false,
           .root = one_apart ? set.root : kAnyRoot};
  Found found[2];
  for (bool in_place : {false, true}) {
    m.has[in_place] = set.has(in_place);
    if (!m.has[in_place]) continue;
    const bool mix = in_place && one_apart && m.has[0];
    PLAIT_TRY(prove_both(set, in_place, mix ? with_root_in_place(set) : set.programs[in_place],
                         mix ? "the root in place" : "as it is written", found[in_place]));
    m.min_credits[in_place] = found[in_place].min_credits;
  }
  m.mixes = one_apart && m.has[0] && m.has[1];
  m.foretold = !one_apart;
  m.rank_order = found[0].rank_order && found[1].rank_order;
  m.deterministic = found[0].deterministic && found[1].deterministic;
  m.build = [admitted = std::move(admitted), one_apart, lanes = m.lanes, rank_order = m.rank_order,
             credits = std::array{m.min_credits[0], m.min_credits[1]}](int32_t rank, int32_t root,
                                                                       bool in_place) {
    Program program = admitted->program(rank, in_place && (!one_apart || rank == root));
    program.lanes = lanes;
    program.rank_order = rank_order;
    program.min_credits = credits[in_place];
    return program;
  };
  return m;
}

}  // namespace plait::collectives::exchange
