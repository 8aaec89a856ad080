#include "collectives/algorithm/doubling.h"

#include "collectives/algorithm/cube.h"
#include "collectives/algorithm/rows.h"

namespace plait::collectives {

void doubling_allreduce(Builder& b, const Group& g, Range range, int lane) {
  Cube cube(g.n());
  if (!cube.takes_part(g.me)) {
    b.send(g.at(g.me - 1), range, lane);
    return b.recv(g.at(g.me - 1), range, lane);
  }
  if (cube.paired(g.me)) b.recv_reduce_aside(g.at(g.me + 1), range, lane);
  int v = cube.vertex(g.me);
  for (int d = 1; d < cube.size; d *= 2) {
    int peer = g.at(cube.member(v ^ d));
    auto order = uint8_t(v & d ? kSwapped : 0);
    b.send(peer, range, lane);
    if (2 * d < cube.size) {
      b.recv_reduce_aside(peer, range, lane, order);
    } else if (d > 1) {
      b.recv_reduce(peer, range, lane, order | kLast);  // the input was sent long ago
    } else {
      b.recv_reduce_apart(peer, range, lane, order | kLast);
    }
  }
  if (cube.paired(g.me)) b.send(g.at(g.me + 1), range, lane);
}

void doubling_allgather(Builder& b, const Group& g, const Blocks& blocks, int lane) {
  Cube cube(g.n());
  if (!cube.takes_part(g.me)) {
    b.send(g.at(g.me - 1), blocks[g.me], lane);
    return b.recv(g.at(g.me - 1), blocks.of(g.me + 1, g.n() - 1), lane);
  }
  if (cube.paired(g.me)) b.recv(g.at(g.me + 1), blocks[g.me + 1], lane);
  int v = cube.vertex(g.me);
  for (int d = 1; d < cube.size; d *= 2) {
    int peer = g.at(cube.member(v ^ d)), mine = v & -d;  // the first of the d vertices that have met
    b.send(peer, cube.blocks(blocks, mine, d), lane);
    b.recv(peer, cube.blocks(blocks, mine ^ d, d), lane);
  }
  if (cube.paired(g.me)) b.send(g.at(g.me + 1), blocks.of(g.me + 2, g.n() - 1), lane);
}

namespace {

constexpr Algorithm kDoublingRows[] = {
    {.name = "recursive_doubling",
     .collective = Collective::allreduce,
     .min_credits = {0, 0},
     .rank_order = true,
     .one_wire = false,
     .accepts = rows::any_number,
     .chunks = rows::one,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { doubling_allreduce(b, g, v.all()); },
     .summary = "log2 n exchanges of everything; for small messages"},
    {.name = "recursive_doubling",
     .collective = Collective::allgather,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { doubling_allgather(b, g, v); },
     .summary = "log2 n exchanges, each of twice the blocks"},
};

}  // namespace

Rows doubling_rows() noexcept { return kDoublingRows; }

}  // namespace plait::collectives
