#include "collectives/exchange/admit.h"

#include "collectives/exchange/json.h"
#include "collectives/exchange/msccl.h"
#include "collectives/machine/symbolic.h"

namespace plait::collectives::exchange {

bool Admitted::fits(Collective collective, int32_t ranks, int32_t root, bool in_place) const noexcept {
  return set.collective == collective && set.has(in_place) && set.ranks() == ranks &&
         (!rooted(collective) || set.root == root);
}

Result<Admitted> admit(ProgramSet set) {
  Admitted admitted;
  for (bool in_place : {false, true}) {
    if (!set.has(in_place)) continue;
    const Proof proof = prove({set.collective, set.root}, set.programs[in_place]);
    PLAIT_TRY(located(set, in_place, proof.status));
    for (Program& p : set.programs[in_place]) {
      p.min_credits = proof.min_credits;
      p.rank_order = proof.rank_order;
    }
    admitted.deterministic[in_place] = proof.deterministic;
  }
  if (!set.has(false) && !set.has(true)) return Status(Code::invalid, "a program set without programs");
  admitted.set = std::move(set);
  return admitted;
}

Result<ProgramSet> load(const std::string& path, const Limits& limits) {
  auto text = read_file(path, limits.bytes);
  if (!text.ok()) return text.status();
  const size_t first = text->find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (*text)[first] == '<') return from_msccl(*text, path, limits);
  return from_json(*text, path, limits);
}

Result<Admitted> admit_file(const std::string& path, const Limits& limits) {
  auto set = load(path, limits);
  if (!set.ok()) return set.status();
  return admit(std::move(*set));
}

}  // namespace plait::collectives::exchange
