#include "collectives/algorithm/swing.h"

#include "collectives/algorithm/halving.h"
#include "collectives/algorithm/rows.h"

namespace plait::collectives {

namespace {

// A number in which partners of round k have the same bits below k and differ in bit k. A hop of round k
// takes 3 member - (member odd) by 2^(k+1) up or down, and from even to odd or back.
unsigned label(int member, int dims) {
  unsigned size = 1u << dims, odd = unsigned(member) & 1;
  return (3 * unsigned(member) - odd) % size / 2 | odd << (dims - 1);
}

// The blocks of all members whose label agrees with that of `member` in the lowest `bits`: what it answers
// for after so many rounds.
Ranges answers_for(const Blocks& blocks, int member, int bits, int dims) {
  unsigned mask = (1u << bits) - 1, mine = label(member, dims) & mask;
  Ranges list;
  for (int q = 0; q < 1 << dims; q++) {
    if ((label(q, dims) & mask) == mine) list.add(blocks[q]);
  }
  return list;
}

}  // namespace

void swing_allreduce(Builder& b, const Group& g, Range range, int lane) {
  int dims = Cube(g.n()).dims;
  if (dims == 0) return;
  halve_and_double(
      b, range, dims, label(g.me, dims), [&](int k) { return g.at(swing_partner(g.me, k, g.n())); },
      [](int) { return false; }, lane);
}

void swing_reduce_scatter(Builder& b, const Group& g, const Blocks& blocks, int lane) {
  int dims = Cube(g.n()).dims;
  for (int k = 0; k < dims; k++) {
    int peer = swing_partner(g.me, k, g.n());
    b.send(g.at(peer), answers_for(blocks, peer, k + 1, dims), lane);
    b.recv_reduce(g.at(peer), answers_for(blocks, g.me, k + 1, dims), lane, k == dims - 1 ? kLast : 0);
  }
}

void swing_allgather(Builder& b, const Group& g, const Blocks& blocks, int lane) {
  int dims = Cube(g.n()).dims;
  for (int k = dims - 1; k >= 0; k--) {
    int peer = swing_partner(g.me, k, g.n());
    b.send(g.at(peer), answers_for(blocks, g.me, k + 1, dims), lane);
    b.recv(g.at(peer), answers_for(blocks, peer, k + 1, dims), lane);
  }
}

namespace {

constexpr Algorithm kSwingRows[] = {
    {.name = "swing",
     .collective = Collective::allreduce,
     .min_credits = {0, 0},
     .rank_order = false,
     .accepts = rows::power_of_two,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { swing_allreduce(b, g, v.all()); },
     .summary = "halving and doubling with partners that are near on a ring or torus"},
    {.name = "swing",
     .collective = Collective::reduce_scatter,
     .min_credits = {0, 0},
     .rank_order = false,
     .accepts = rows::power_of_two,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { swing_reduce_scatter(b, g, v); },
     .summary = "halving with partners that are near on a ring or torus"},
    {.name = "swing",
     .collective = Collective::allgather,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::power_of_two,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { swing_allgather(b, g, v); },
     .summary = "doubling with partners that are near on a ring or torus"},
};

}  // namespace

Rows swing_rows() noexcept { return kSwingRows; }

}  // namespace plait::collectives
