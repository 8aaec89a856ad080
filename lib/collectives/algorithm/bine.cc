#include "collectives/algorithm/bine.h"

#include <bit>

#include "collectives/algorithm/cube.h"
#include "collectives/algorithm/rows.h"
#include "collectives/algorithm/swing.h"

namespace plait::collectives {

namespace {

// The blocks of the 2^rounds members that are reached from v in rounds below `rounds`; members are counted
// from `root`. An even member reaches as far to the left as odd rounds go, to the right as even ones; an odd
// member the other way round.
Ranges reached(const Blocks& blocks, int root, int v, int rounds) {
  constexpr unsigned kEven = 0x55555555, kOdd = 0xAAAAAAAA;
  unsigned below = (1u << rounds) - 1;
  auto left = int((v % 2 ? kEven : kOdd) & below);
  return blocks.of(root + v - left, 1 << rounds);
}

// A member's place in the tree, counted from the root.
struct Node {
  int v, n;
  int round;  // the one in which the value comes; those below hand it on

  Node(const Group& g, int root) : v(mod(g.me - root, g.n())), n(g.n()), round(Cube(n).dims) {
    if (v == 0) return;
    // Each round k on the way adds or takes 2^(k+1) from 3v, or 3v - 1: the last one is the lowest bit.
    unsigned way = (3 * unsigned(v) - unsigned(v % 2)) % unsigned(n);
    round = (way == 0 ? round : std::countr_zero(way)) - 1;
  }
  int partner(int k) const { return swing_partner(v, k, n); }
  bool is_root() const { return v == 0; }
};

}  // namespace

void bine_broadcast(Builder& b, const Group& g, int root, Range range, int lane) {
  Node node(g, root);
  if (!node.is_root()) b.recv(g.at(root + node.partner(node.round)), range, lane);
  for (int k = node.round - 1; k >= 0; k--) b.send(g.at(root + node.partner(k)), range, lane);
}

void bine_reduce(Builder& b, const Group& g, int root, Range range, int lane) {
  Node node(g, root);
  for (int k = 0; k < node.round; k++) {
    bool last = node.is_root() && k == node.round - 1;
    b.recv_reduce(g.at(root + node.partner(k)), range, lane, last ? kLast : 0);
  }
  if (!node.is_root()) b.send(g.at(root + node.partner(node.round)), range, lane);
}

void bine_gather(Builder& b, const Group& g, int root, const Blocks& blocks, int lane) {
  Node node(g, root);
  for (int k = 0; k < node.round; k++) {
    b.recv(g.at(root + node.partner(k)), reached(blocks, root, node.partner(k), k), lane);
  }
  if (node.is_root()) return;
  b.send(g.at(root + node.partner(node.round)), reached(blocks, root, node.v, node.round), lane);
}

void bine_scatter(Builder& b, const Group& g, int root, const Blocks& blocks, int lane) {
  Node node(g, root);
  if (!node.is_root()) {
    b.recv(g.at(root + node.partner(node.round)), reached(blocks, root, node.v, node.round), lane);
  }
  for (int k = node.round - 1; k >= 0; k--) {
    b.send(g.at(root + node.partner(k)), reached(blocks, root, node.partner(k), k), lane);
  }
}

void bine_reduce_scatter(Builder& b, const Group& g, const Blocks& blocks, int lane) {
  for (int k = Cube(g.n()).dims - 1; k >= 0; k--) {
    int peer = swing_partner(g.me, k, g.n());
    b.send(g.at(peer), reached(blocks, 0, peer, k), lane);
    b.recv_reduce(g.at(peer), reached(blocks, 0, g.me, k), lane, k == 0 ? kLast : 0);
  }
}

void bine_allgather(Builder& b, const Group& g, const Blocks& blocks, int lane) {
  for (int k = 0; k < Cube(g.n()).dims; k++) {
    int peer = swing_partner(g.me, k, g.n());
    b.send(g.at(peer), reached(blocks, 0, g.me, k), lane);
    b.recv(g.at(peer), reached(blocks, 0, peer, k), lane);
  }
}

void bine_allreduce(Builder& b, const Group& g, Range range, int lane) {
  auto blocks = split(range, g.n());
  bine_reduce_scatter(b, g, blocks, lane);
  bine_allgather(b, g, blocks, lane);
}

namespace {

constexpr Algorithm kBineRows[] = {
    {.name = "bine",
     .collective = Collective::allreduce,
     .min_credits = {0, 0},
     .rank_order = false,
     .accepts = rows::power_of_two,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { bine_allreduce(b, g, v.all()); },
     .summary = "halving and doubling between neighbourhoods; messages of two pieces at most"},
    {.name = "bine",
     .collective = Collective::reduce_scatter,
     .min_credits = {0, 0},
     .rank_order = false,
     .accepts = rows::power_of_two,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { bine_reduce_scatter(b, g, v); },
     .summary = "halving between neighbourhoods"},
    {.name = "bine",
     .collective = Collective::allgather,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::power_of_two,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { bine_allgather(b, g, v); },
     .summary = "doubling between neighbourhoods"},
    {.name = "bine",
     .collective = Collective::broadcast,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::power_of_two,
     .chunks = rows::one,
     .append = [](Builder& b, const Group& g, int root,
                  const Blocks& v) { bine_broadcast(b, g, root, v.all()); },
     .summary = "a binomial tree of neighbourhoods"},
    {.name = "bine",
     .collective = Collective::reduce,
     .min_credits = {0, 0},
     .rank_order = false,
     .accepts = rows::power_of_two,
     .chunks = rows::one,
     .append = [](Builder& b, const Group& g, int root,
                  const Blocks& v) { bine_reduce(b, g, root, v.all()); },
     .summary = "a binomial tree of neighbourhoods"},
    {.name = "bine",
     .collective = Collective::gather,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::power_of_two,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int root, const Blocks& v) { bine_gather(b, g, root, v); },
     .summary = "a binomial tree of neighbourhoods"},
    {.name = "bine",
     .collective = Collective::scatter,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::power_of_two,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int root, const Blocks& v) { bine_scatter(b, g, root, v); },
     .summary = "a binomial tree of neighbourhoods"},
};

}  // namespace

Rows bine_rows() noexcept { return kBineRows; }

}  // namespace plait::collectives
