#include "collectives/algorithms.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/log.h"
#include "collectives/algorithm/rows.h"

namespace plait::collectives {

namespace {

std::vector<Algorithm> collect() {
  std::vector<Algorithm> table;
  for (Rows rows : {ring_rows(), direct_rows(), star_rows(), pipeline_rows(), tree_rows(), double_tree_rows(),
                    doubling_rows(), halving_rows(), swing_rows(), bine_rows(), pat_rows(), linear_rows(),
                    alltoall_rows(), dissemination_rows()}) {
    table.insert(table.end(), rows.begin(), rows.end());
  }
  std::ranges::stable_sort(table, {}, &Algorithm::collective);
  return table;
}

}  // namespace

Program Algorithm::build(int n, int rank, int root, bool in_place) const {
  uint32_t count = chunks(n);
  Builder b(collective, n, rank, root, count);
  append(b, world(n, rank), root, split({0, count}, n));
  Result<Program> program = b.finish(in_place);
  if (!program.ok()) {  // a bug in the algorithm, which the proofs of all of them rule out
    log::error("{} {}: {}", name, name_of(collective), program.status().text());
    std::abort();
  }
  program->lanes = lanes;
  program->min_credits = n > 1 ? min_credits[in_place] : 0;
  program->rank_order = rank_order || n == 1;
  return std::move(*program);
}

std::span<const Algorithm> algorithms() noexcept {
  static const std::vector<Algorithm> kTable = collect();
  return kTable;
}

const Algorithm* find_algorithm(Collective collective, std::string_view name) noexcept {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective == collective && algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

}  // namespace plait::collectives
