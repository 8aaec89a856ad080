#include "collectives/algorithm/halving.h"

#include "collectives/algorithm/rows.h"

namespace plait::collectives {

void halving_reduce_scatter(Builder& b, const Group& g, const Blocks& blocks, int lane) {
  Cube cube(g.n());
  if (!cube.takes_part(g.me)) {
    b.send(g.at(g.me - 1), blocks.of(0, g.n()), lane);
    return b.recv(g.at(g.me - 1), blocks[g.me], lane);
  }
  if (cube.paired(g.me)) b.recv_reduce(g.at(g.me + 1), blocks.of(0, g.n()), lane);
  int v = cube.vertex(g.me);
  for (int d = cube.size / 2; d >= 1; d /= 2) {
    int peer = g.at(cube.member(v ^ d)), mine = v & -d;  // the first of the d vertices that stay together
    b.send(peer, cube.blocks(blocks, mine ^ d, d), lane);
    b.recv_reduce(peer, cube.blocks(blocks, mine, d), lane, d == 1 ? kLast : 0);
  }
  if (cube.paired(g.me)) b.send(g.at(g.me + 1), blocks[g.me + 1], lane);
}

void rabenseifner_allreduce(Builder& b, const Group& g, Range range, int lane) {
  Cube cube(g.n());
  if (!cube.takes_part(g.me)) {
    b.send(g.at(g.me - 1), range, lane);
    return b.recv(g.at(g.me - 1), range, lane);
  }
  if (cube.paired(g.me)) b.recv_reduce(g.at(g.me + 1), range, lane);
  int v = cube.vertex(g.me);
  halve_and_double(
      b, range, cube.dims, unsigned(v), [&](int k) { return g.at(cube.member(v ^ 1 << k)); },
      [&](int k) { return (v >> k & 1) != 0; }, lane);
  if (cube.paired(g.me)) b.send(g.at(g.me + 1), range, lane);
}

namespace {

constexpr Algorithm kHalvingRows[] = {
    {.name = "rabenseifner",
     .collective = Collective::allreduce,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = [](int n) { return vertices(n); },
     .append = [](Builder& b, const Group& g, int,
                  const Blocks& v) { rabenseifner_allreduce(b, g, v.all()); },
     .summary = "recursive halving and doubling; logarithmic, for medium and large messages"},
    {.name = "recursive_halving",
     .collective = Collective::reduce_scatter,
     .min_credits = {0, 0},
     .rank_order = false,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { halving_reduce_scatter(b, g, v); },
     .summary = "log2 n exchanges, each of half of what is left"},
};

}  // namespace

Rows halving_rows() noexcept { return kHalvingRows; }

}  // namespace plait::collectives
