#include "collectives/algorithm/tree.h"

#include <algorithm>
#include <vector>

#include "collectives/algorithm/rows.h"

namespace plait::collectives {

namespace {

// A subtree: its members, counted from the root, are those from `top` on.
struct Subtree {
  int top, count;
};

// A member's place in the tree, counted from the root.
struct TreeNode {
  int parent = -1;
  Subtree mine;
  std::vector<Subtree> children;  // the smallest first
};

// Member v's digits to base k lead to it: the parent is v without its lowest digit.
TreeNode node_of(int v, int n, int k) {
  TreeNode node{.parent = -1, .mine = {v, n - v}, .children = {}};
  for (int64_t d = 1; d < n; d *= k) {
    if (int64_t digit = v / d % k) {
      node.parent = int(v - digit * d);
      node.mine.count = int(std::min<int64_t>(d, n - v));
      break;
    }
    for (int64_t child = v + d, j = 1; j < k && child < n; child += d, j++) {
      node.children.push_back({int(child), int(std::min<int64_t>(d, n - child))});
    }
  }
  return node;
}

TreeNode node_of(const Group& g, int root, int k) { return node_of(mod(g.me - root, g.n()), g.n(), k); }

}  // namespace

void tree_broadcast(Builder& b, const Group& g, int root, Range range, int k, int lane) {
  TreeNode node = node_of(g, root, k);
  if (node.parent >= 0) b.recv(g.at(root + node.parent), range, lane);
  for (auto child = node.children.rbegin(); child != node.children.rend(); child++) {
    b.send(g.at(root + child->top), range, lane);
  }
}

void tree_reduce(Builder& b, const Group& g, int root, Range range, int k, int lane) {
  TreeNode node = node_of(g, root, k);
  for (size_t i = 0; i < node.children.size(); i++) {
    bool last = node.parent < 0 && i + 1 == node.children.size();
    b.recv_reduce(g.at(root + node.children[i].top), range, lane, last ? kLast : 0);
  }
  if (node.parent >= 0) b.send(g.at(root + node.parent), range, lane);
}

void tree_allreduce(Builder& b, const Group& g, Range range, int k, int lane) {
  tree_reduce(b, g, 0, range, k, lane);
  tree_broadcast(b, g, 0, range, k, lane);
}

void tree_gather(Builder& b, const Group& g, int root, const Blocks& blocks, int k, int lane) {
  TreeNode node = node_of(g, root, k);
  for (Subtree child : node.children)
    b.recv(g.at(root + child.top), blocks.of(root + child.top, child.count), lane);
  if (node.parent >= 0) b.send(g.at(root + node.parent), blocks.of(g.me, node.mine.count), lane);
}

void tree_scatter(Builder& b, const Group& g, int root, const Blocks& blocks, int k, int lane) {
  TreeNode node = node_of(g, root, k);
  if (node.parent >= 0) b.recv(g.at(root + node.parent), blocks.of(g.me, node.mine.count), lane);
  for (auto child = node.children.rbegin(); child != node.children.rend(); child++) {
    b.send(g.at(root + child->top), blocks.of(root + child->top, child->count), lane);
  }
}

namespace {

constexpr Algorithm kTreeRows[] = {
    {.name = "binomial",
     .collective = Collective::allreduce,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { tree_allreduce(b, g, v.all(), 2); },
     .summary = "reduce and broadcast by a binomial tree"},
    {.name = "binomial",
     .collective = Collective::broadcast,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one,
     .append = [](Builder& b, const Group& g, int root,
                  const Blocks& v) { tree_broadcast(b, g, root, v.all(), 2); },
     .summary = "a binomial tree"},
    {.name = "binomial",
     .collective = Collective::reduce,
     .min_credits = {0, 0},
     .rank_order = false,
     .accepts = rows::any_number,
     .chunks = rows::one,
     .append = [](Builder& b, const Group& g, int root,
                  const Blocks& v) { tree_reduce(b, g, root, v.all(), 2); },
     .summary = "a binomial tree"},
    {.name = "binomial",
     .collective = Collective::gather,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int root, const Blocks& v) { tree_gather(b, g, root, v, 2); },
     .summary = "a binomial tree: a subtree's blocks are one message"},
    {.name = "binomial",
     .collective = Collective::scatter,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int root, const Blocks& v) { tree_scatter(b, g, root, v, 2); },
     .summary = "a binomial tree: a subtree's blocks are one message"},
    {.name = "binomial",
     .collective = Collective::barrier,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { tree_allreduce(b, g, v.all(), 2); },
     .summary = "a binomial tree: everybody tells rank 0, which tells everybody"},
    {.name = "knomial_4",
     .collective = Collective::allreduce,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { tree_allreduce(b, g, v.all(), 4); },
     .summary = "reduce and broadcast by a tree in which each hands on to three a round"},
    {.name = "knomial_4",
     .collective = Collective::broadcast,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one,
     .append = [](Builder& b, const Group& g, int root,
                  const Blocks& v) { tree_broadcast(b, g, root, v.all(), 4); },
     .summary = "a tree in which each hands on to three a round"},
    {.name = "knomial_4",
     .collective = Collective::reduce,
     .min_credits = {0, 0},
     .rank_order = false,
     .accepts = rows::any_number,
     .chunks = rows::one,
     .append = [](Builder& b, const Group& g, int root,
                  const Blocks& v) { tree_reduce(b, g, root, v.all(), 4); },
     .summary = "a tree in which each hands on to three a round"},
    {.name = "knomial_4",
     .collective = Collective::gather,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int root, const Blocks& v) { tree_gather(b, g, root, v, 4); },
     .summary = "a tree in which each hands on to three a round: a subtree's blocks are one message"},
    {.name = "knomial_4",
     .collective = Collective::scatter,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int root, const Blocks& v) { tree_scatter(b, g, root, v, 4); },
     .summary = "a tree in which each hands on to three a round: a subtree's blocks are one message"},
    {.name = "knomial_4",
     .collective = Collective::barrier,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { tree_allreduce(b, g, v.all(), 4); },
     .summary =
         "a tree in which each hands on to three a round: everybody tells rank 0, which tells everybody"},
};

}  // namespace

Rows tree_rows() noexcept { return kTreeRows; }

}  // namespace plait::collectives
