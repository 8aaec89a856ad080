#include "collectives/algorithm/double_tree.h"

#include <bit>

#include "collectives/algorithm/rows.h"

namespace plait::collectives {

namespace {

// Members are counted from the root; -1: none.
struct BinaryNode {
  int parent = -1, left = -1, right = -1;
};

// The tree of 0..n-1 in which everything left of a node is before it, everything right after it: node v is as
// high as its lowest bit says, and 0, with one child, is above all.
BinaryNode in_order(int v, int n) {
  auto half = int(std::bit_ceil(unsigned(n)) / 2);
  if (v == 0) return {.right = n > 1 ? half : -1};
  int bit = v & -v;
  BinaryNode node{.parent = (v ^ bit) | bit << 1};
  if (node.parent >= n) node.parent = v ^ bit;
  int low = bit / 2;
  if (low > 0) node.left = v - low;
  while (low > 0 && v + low >= n) low /= 2;
  if (low > 0) node.right = v + low;
  return node;
}

// The second tree is the first one of 1..n-1, moved up by one, below the root: inner nodes are odd there and
// even in the first.
BinaryNode second(int v, int n) {
  if (v == 0) return {.right = n > 1 ? 1 : -1};
  BinaryNode node = in_order(v - 1, n - 1);
  auto up = [](int x) { return x < 0 ? -1 : x + 1; };
  return {.parent = v == 1 ? 0 : up(node.parent), .left = up(node.left), .right = up(node.right)};
}

struct Half {
  BinaryNode node;
  Range range;
  int lane;
};

// Calls f for each of the two trees.
template <class F>
void each_tree(const Group& g, int root, Range range, F f) {
  int v = mod(g.me - root, g.n());
  f(Half{in_order(v, g.n()), part(range, 2, 0), 0});
  f(Half{second(v, g.n()), part(range, 2, 1), 1});
}

}  // namespace

void double_tree_broadcast(Builder& b, const Group& g, int root, Range range) {
  each_tree(g, root, range, [&](const Half& t) {
    if (t.node.parent >= 0) b.recv(g.at(root + t.node.parent), t.range, t.lane);
    for (int child : {t.node.right, t.node.left}) {
      if (child >= 0) b.send(g.at(root + child), t.range, t.lane);
    }
  });
}

void double_tree_reduce(Builder& b, const Group& g, int root, Range range) {
  each_tree(g, root, range, [&](const Half& t) {
    if (t.node.right >= 0) {
      b.recv_reduce(g.at(root + t.node.right), t.range, t.lane, t.node.parent < 0 ? kLast : 0);
    }
    if (t.node.left >= 0) b.recv_reduce(g.at(root + t.node.left), t.range, t.lane, kSwapped);
    if (t.node.parent >= 0) b.send(g.at(root + t.node.parent), t.range, t.lane);
  });
}

void double_tree_allreduce(Builder& b, const Group& g, Range range) {
  double_tree_reduce(b, g, 0, range);
  double_tree_broadcast(b, g, 0, range);
}

namespace {

constexpr Algorithm kDoubleTreeRows[] = {
    {.name = "double_tree",
     .collective = Collective::allreduce,
     .min_credits = {0, 0},
     .rank_order = true,
     .lanes = 2,
     .accepts = rows::any_number,
     .chunks = [](int) { return 2u; },
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { double_tree_allreduce(b, g, v.all()); },
     .summary = "two binary trees, half of the vector each; logarithmic, full bandwidth in segments"},
    {.name = "double_tree",
     .collective = Collective::broadcast,
     .min_credits = {0, 0},
     .rank_order = true,
     .lanes = 2,
     .accepts = rows::any_number,
     .chunks = [](int) { return 2u; },
     .append = [](Builder& b, const Group& g, int root,
                  const Blocks& v) { double_tree_broadcast(b, g, root, v.all()); },
     .summary = "two binary trees, half of the vector each"},
    {.name = "double_tree",
     .collective = Collective::reduce,
     .min_credits = {0, 0},
     .rank_order = false,
     .lanes = 2,
     .accepts = rows::any_number,
     .chunks = [](int) { return 2u; },
     .append = [](Builder& b, const Group& g, int root,
                  const Blocks& v) { double_tree_reduce(b, g, root, v.all()); },
     .summary = "two binary trees, half of the vector each"},
};

}  // namespace

Rows double_tree_rows() noexcept { return kDoubleTreeRows; }

}  // namespace plait::collectives
