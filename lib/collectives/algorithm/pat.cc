#include "collectives/algorithm/pat.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "collectives/algorithm/rows.h"

namespace plait::collectives {

namespace {

// One message of an allgather: blocks that have come `offsets` far go 2^dim further.
struct Hop {
  int dim;
  std::vector<int> offsets;
};

// The tree that each block follows: from offset o over each dim below the one it came by. The upper dims,
// which part the tree into `together` subtrees, are walked level by level; the subtrees side by side, depth
// first.
class Walk {
 public:
  Walk(int n, int together) : n_(n) {
    int dims = int(std::bit_width(unsigned(n - 1))),
        upper = std::min(dims, int(std::bit_width(unsigned(together))) - 1);
    std::vector<int> tops{0};
    for (int d = dims - 1; d >= dims - upper; d--) {
      hop(d, tops);
      std::vector<int> further = tops;
      for (int top : further) tops.push_back(top + (1 << d));
    }
    depth_first(tops, dims - upper);
  }
  std::vector<Hop> hops() && { return std::move(hops_); }

 private:
  void hop(int d, const std::vector<int>& from) {
    Hop made{d, {}};
    for (int o : from) {
      if (o + (1 << d) < n_) made.offsets.push_back(o);
    }
    if (!made.offsets.empty()) hops_.push_back(std::move(made));
  }
  void depth_first(const std::vector<int>& from, int dims) {
    for (int d = dims - 1; d >= 0; d--) {
      hop(d, from);
      std::vector<int> further = from;
      for (int& o : further) o += 1 << d;
      depth_first(further, d);
    }
  }

  int n_;
  std::vector<Hop> hops_;
};

// The blocks that have come so far to this member, or will have after `more`.
Ranges blocks_of(const Blocks& blocks, int me, const Hop& hop, int more) {
  Ranges list;
  for (int o : hop.offsets) list.add(blocks[me - o - more]);
  return list;
}

}  // namespace

void pat_allgather(Builder& b, const Group& g, const Blocks& blocks, int together, int lane) {
  const auto hops = Walk(g.n(), together).hops();
  for (const Hop& hop : hops) {
    int d = 1 << hop.dim;
    b.send(g.at(g.me + d), blocks_of(blocks, g.me, hop, 0), lane);
    b.recv(g.at(g.me - d), blocks_of(blocks, g.me, hop, d), lane);
  }
}

void pat_reduce_scatter(Builder& b, const Group& g, const Blocks& blocks, int together, int lane) {
  const auto hops = Walk(g.n(), together).hops();
  for (size_t i = hops.size(); i-- > 0;) {
    const Hop& hop = hops[i];
    int d = 1 << hop.dim;
    bool last = i == 0;  // of this member's own block
    b.send(g.at(g.me - d), blocks_of(blocks, g.me, hop, d), lane);
    b.recv_reduce(g.at(g.me + d), blocks_of(blocks, g.me, hop, 0), lane, last ? kLast : 0);
  }
}

namespace {

constexpr Algorithm kPatRows[] = {
    {.name = "pat",
     .collective = Collective::reduce_scatter,
     .min_credits = {0, 0},
     .rank_order = false,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { pat_reduce_scatter(b, g, v, 1); },
     .summary = "a binomial tree to every rank, depth first: log2 n hops, few partial sums"},
    {.name = "pat_16",
     .collective = Collective::reduce_scatter,
     .min_credits = {0, 0},
     .rank_order = false,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { pat_reduce_scatter(b, g, v, 16); },
     .summary = "the same, 16 blocks a message: for small blocks"},
    {.name = "pat",
     .collective = Collective::allgather,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { pat_allgather(b, g, v, 1); },
     .summary = "a binomial tree from every rank: log2 n hops"},
    {.name = "pat_16",
     .collective = Collective::allgather,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { pat_allgather(b, g, v, 16); },
     .summary = "the same, 16 blocks a message: for small blocks"},
};

}  // namespace

Rows pat_rows() noexcept { return kPatRows; }

}  // namespace plait::collectives
