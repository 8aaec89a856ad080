#include "collectives/algorithm/linear.h"

#include "collectives/algorithm/rows.h"

namespace plait::collectives {

void linear_gather(Builder& b, const Group& g, int root, const Blocks& blocks, int lane) {
  if (g.me != root) return b.send(g.at(root), blocks[g.me], lane);
  for (int k = 1; k < g.n(); k++) b.recv(g.at(root + k), blocks[root + k], lane);
}

void linear_scatter(Builder& b, const Group& g, int root, const Blocks& blocks, int lane) {
  if (g.me != root) return b.recv(g.at(root), blocks[g.me], lane);
  for (int k = 1; k < g.n(); k++) b.send(g.at(root + k), blocks[root + k], lane);
}

namespace {

constexpr Algorithm kLinearRows[] = {
    {.name = "linear",
     .collective = Collective::gather,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int root, const Blocks& v) { linear_gather(b, g, root, v); },
     .summary = "each rank sends its block to the root"},
    {.name = "linear",
     .collective = Collective::scatter,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int root, const Blocks& v) { linear_scatter(b, g, root, v); },
     .summary = "the root sends each rank its block"},
};

}  // namespace

Rows linear_rows() noexcept { return kLinearRows; }

}  // namespace plait::collectives
