#include "collectives/algorithm/mapped.h"

#include <algorithm>

#include "collectives/algorithm/ring.h"

namespace plait::collectives {
namespace {

class Listed final : public Members {
 public:
  explicit Listed(const std::vector<int32_t>& ranks) : ranks_(ranks) {}
  int rank(int member) const override { return ranks_[size_t(member)]; }

 private:
  const std::vector<int32_t>& ranks_;
};

// The ring, or the same against its order.
Group around(const Listed& members, int n, int me, bool backwards) {
  Group g{.count = n, .me = me, .members = &members};
  if (!backwards) return g;
  g.me = mod(-me, n);
  g.step = n - 1;
  return g;
}

}  // namespace

void mapped_rings_allreduce(Builder& b, int rank, const std::vector<std::vector<int32_t>>& rings,
                            Range range) {
  const int lanes = int(2 * rings.size());
  for (size_t i = 0; i < rings.size(); i++) {
    const Listed members(rings[i]);
    const int n = int(rings[i].size());
    const int me = int(std::ranges::find(rings[i], rank) - rings[i].begin());
    for (int back : {0, 1}) {
      const int lane = int(2 * i) + back;
      ring_allreduce(b, around(members, n, me, back == 1), part(range, lanes, lane), lane);
    }
  }
}

void mapped_trees_allreduce(Builder& b, int rank, const std::vector<std::vector<int32_t>>& parents,
                            Range range) {
  const int trees = int(parents.size());
  auto each = [&](auto&& f) {
    for (int t = 0; t < trees; t++) {
      std::vector<int32_t> children;
      for (int32_t r = 0; r < int32_t(parents[size_t(t)].size()); r++) {
        if (parents[size_t(t)][size_t(r)] == rank) children.push_back(r);
      }
      f(parents[size_t(t)][size_t(rank)], children, part(range, trees, t), t);
    }
  };
  each([&](int32_t parent, const std::vector<int32_t>& children, Range mine, int lane) {
    for (int32_t child : children) {
      const bool last = parent < 0 && child == children.back();
      b.recv_reduce(child, mine, lane, last ? kLast : 0);
    }
    if (parent >= 0) b.send(parent, mine, lane);
  });
  each([&](int32_t parent, const std::vector<int32_t>& children, Range mine, int lane) {
    if (parent >= 0) b.recv(parent, mine, lane);
    for (int32_t child : children) b.send(child, mine, lane);
  });
}

}  // namespace plait::collectives
