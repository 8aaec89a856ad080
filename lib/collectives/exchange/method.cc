#include "collectives/exchange/method.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "collectives/chunkwise.h"
#include "collectives/machine/symbolic.h"

namespace plait::collectives::exchange {

namespace {

// What holds of a variant, in whichever form it runs.
struct Found {
  uint8_t min_credits = 0;
  bool rank_order = true, deterministic = true;
};

Found found_of(const Admitted& admitted, bool in_place) {
  return {.min_credits = admitted.min_credits(in_place),
          .rank_order = admitted.rank_order(in_place),
          .deterministic = admitted.deterministic[in_place]};
}

// Steps are not those of the file any more, so a refusal names no line.
Status prove_form(const ProgramSet& set, const std::vector<Program>& programs, const char* form,
                  Found& found) {
  const Proof proof = prove({set.collective, set.root}, programs);
  if (!proof.status.ok())
    return {proof.status.code(), fmt::format("{}: {}: {}", set.origin.file, form, proof.status.text())};
  found.min_credits = std::max(found.min_credits, proof.min_credits);
  found.rank_order = found.rank_order && proof.rank_order;
  found.deterministic = found.deterministic && proof.deterministic;
  return {};
}

std::vector<Program> apart(const std::vector<Program>& programs) {
  std::vector<Program> each;
  each.reserve(programs.size());
  for (const Program& p : programs) each.push_back(chunkwise(p));
  return each;
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
    Found& f = found[in_place] = found_of(*admitted, in_place);
    const bool mixed = in_place && one_apart && m.has[0];
    const std::vector<Program> mix = mixed ? with_root_in_place(set) : std::vector<Program>();
    if (mixed) PLAIT_TRY(prove_form(set, mix, "the root in place", f));
    PLAIT_TRY(prove_form(set, apart(mixed ? mix : set.programs[in_place]), "each chunk by itself", f));
    m.min_credits[in_place] = f.min_credits;
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
