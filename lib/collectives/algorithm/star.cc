#include "collectives/algorithm/star.h"

#include "collectives/algorithm/rows.h"

namespace plait::collectives {

void star_broadcast(Builder& b, const Group& g, int root, Range range, int lane) {
  if (g.me != root) return b.recv(g.at(root), range, lane);
  for (int k = 1; k < g.n(); k++) b.send(g.at(root + k), range, lane);
}

void star_reduce(Builder& b, const Group& g, int root, Range range, int lane) {
  if (g.me != root) return b.send(g.at(root), range, lane);
  // The sum grows from the root's own value to the right, then to the left.
  for (int q = root + 1; q < g.n(); q++) {
    b.recv_reduce(g.at(q), range, lane, root == 0 && q == g.n() - 1 ? kLast : 0);
  }
  for (int q = root - 1; q >= 0; q--)
    b.recv_reduce(g.at(q), range, lane, q == 0 ? kSwapped | kLast : kSwapped);
}

void star_allreduce(Builder& b, const Group& g, Range range, int lane) {
  star_reduce(b, g, 0, range, lane);
  star_broadcast(b, g, 0, range, lane);
}

namespace {

constexpr Algorithm kStarRows[] = {
    {.name = "star",
     .collective = Collective::allreduce,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { star_allreduce(b, g, v.all()); },
     .summary = "rank 0 folds everything and sends the result to all"},
    {.name = "star",
     .collective = Collective::broadcast,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one,
     .append = [](Builder& b, const Group& g, int root,
                  const Blocks& v) { star_broadcast(b, g, root, v.all()); },
     .summary = "the root sends to all"},
    {.name = "star",
     .collective = Collective::reduce,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one,
     .append = [](Builder& b, const Group& g, int root,
                  const Blocks& v) { star_reduce(b, g, root, v.all()); },
     .summary = "all send to the root, which folds one after the other"},
};

}  // namespace

Rows star_rows() noexcept { return kStarRows; }

}  // namespace plait::collectives
