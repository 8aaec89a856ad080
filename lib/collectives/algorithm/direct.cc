#include "collectives/algorithm/direct.h"

#include "collectives/algorithm/rows.h"

namespace plait::collectives {

namespace {

// Receives everybody's value of `mine` and folds them in the order of members. Nearest first, as peers send:
// no member is sent to by all at once.
void fold_everybody(Builder& b, const Group& g, const Ranges& mine, int lane) {
  std::vector<Place> operands(size_t(g.n()), kNowhere);
  for (int k = 1; k < g.n(); k++) {
    operands[size_t(mod(g.me - k, g.n()))] = b.recv_aside(g.at(g.me - k), mine, lane, kChain);
  }
  b.fold_chain(mine, operands, kLast);
}

}  // namespace

void direct_reduce_scatter(Builder& b, const Group& g, const Blocks& blocks, int lane) {
  for (int k = 1; k < g.n(); k++) b.send(g.at(g.me + k), blocks[g.me + k], lane);
  fold_everybody(b, g, blocks[g.me], lane);
}

void direct_allgather(Builder& b, const Group& g, const Blocks& blocks, int lane) {
  for (int k = 1; k < g.n(); k++) b.send(g.at(g.me + k), blocks[g.me], lane);
  for (int k = 1; k < g.n(); k++) b.recv(g.at(g.me - k), blocks[g.me - k], lane);
}

void direct_allreduce(Builder& b, const Group& g, Range range, int lane) {
  auto blocks = split(range, g.n());
  direct_reduce_scatter(b, g, blocks, lane);
  direct_allgather(b, g, blocks, lane);
}

void all_to_all_allreduce(Builder& b, const Group& g, Range range, int lane) {
  for (int k = 1; k < g.n(); k++) b.send(g.at(g.me + k), range, lane);
  fold_everybody(b, g, range, lane);
}

void direct_reduce(Builder& b, const Group& g, int root, Range range, int lane) {
  if (g.me != root) return b.send(g.at(root), range, lane);
  fold_everybody(b, g, range, lane);
}

namespace {

constexpr Algorithm kDirectRows[] = {
    {.name = "direct",
     .collective = Collective::allreduce,
     .min_credits = {0, 0},
     .rank_order = true,
     .deterministic = true,
     .all_meet = true,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { direct_allreduce(b, g, v.all()); },
     .summary = "each rank folds a share of everybody's values and sends it to all; two rounds, rounds once"},
    {.name = "all_to_all",
     .collective = Collective::allreduce,
     .min_credits = {0, 1},
     .rank_order = true,
     .deterministic = true,
     .all_meet = true,
     .accepts = rows::any_number,
     .chunks = rows::one,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { all_to_all_allreduce(b, g, v.all()); },
     .summary = "everybody sends everything to all and folds it; one round, for small messages"},
    {.name = "direct",
     .collective = Collective::reduce_scatter,
     .min_credits = {0, 0},
     .rank_order = true,
     .deterministic = true,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { direct_reduce_scatter(b, g, v); },
     .summary = "each rank folds its share of everybody's values; one round, rounds once"},
    {.name = "direct",
     .collective = Collective::allgather,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { direct_allgather(b, g, v); },
     .summary = "each rank sends its block to all; one round"},
    {.name = "direct",
     .collective = Collective::reduce,
     .min_credits = {0, 0},
     .rank_order = true,
     .deterministic = true,
     .accepts = rows::any_number,
     .chunks = rows::one,
     .append = [](Builder& b, const Group& g, int root,
                  const Blocks& v) { direct_reduce(b, g, root, v.all()); },
     .summary = "all send to the root, which folds in one go and rounds once"},
};

}  // namespace

Rows direct_rows() noexcept { return kDirectRows; }

}  // namespace plait::collectives
