#include "collectives/algorithm/ring.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "collectives/algorithm/rows.h"

namespace plait::collectives {

void ring_reduce_scatter(Builder& b, const Group& g, const Blocks& blocks, int lane) {
  for (int k = 0; k < g.n() - 1; k++) {
    uint8_t flags = k == g.n() - 2 ? kLast : 0;  // only the last fold of a member completes its block
    b.send(g.at(g.me + 1), blocks[g.me - k - 1], lane);
    b.recv_reduce(g.at(g.me - 1), blocks[g.me - k - 2], lane, flags);
  }
}

void ring_allgather(Builder& b, const Group& g, const Blocks& blocks, int lane) {
  for (int k = 0; k < g.n() - 1; k++) {
    b.send(g.at(g.me + 1), blocks[g.me - k], lane);
    b.recv(g.at(g.me - 1), blocks[g.me - k - 1], lane);
  }
}

void ring_allreduce(Builder& b, const Group& g, Range range, int lane) {
  auto blocks = split(range, g.n());
  ring_reduce_scatter(b, g, blocks, lane);
  ring_allgather(b, g, blocks, lane);
}

namespace {

// The group in the order 0, step, 2 step...
Group reordered(const Group& g, int step) {
  int inverse = 1;  // of step, modulo n
  for (int64_t k = step; mod(k, g.n()) != 1 % g.n(); k += step) inverse++;
  Group ring = g;
  ring.me = mod(int64_t{g.me} * inverse, g.n());
  ring.step = mod(int64_t{g.step} * step, g.n());
  return ring;
}

// Strides in which a ring visits everybody: one way, the other way, and further ones.
std::vector<int> strides(int n, int most) {
  std::vector<int> found{1};
  if (n > 2) found.push_back(n - 1);
  for (int s = 2; s < n - 1 && int(found.size()) < most; s++) {
    if (std::gcd(s, n) == 1) found.push_back(s);
  }
  found.resize(size_t(std::min(most, int(found.size()))));
  return found;
}

}  // namespace

void multi_ring_allreduce(Builder& b, const Group& g, Range range, int rings) {
  auto steps = strides(g.n(), rings);
  for (size_t i = 0; i < steps.size(); i++) {
    ring_allreduce(b, reordered(g, steps[i]), part(range, int(steps.size()), int(i)), int(i));
  }
}

namespace {

constexpr Algorithm kRingRows[] = {
    {.name = "ring",
     .collective = Collective::allreduce,
     .min_credits = {0, 0},
     .rank_order = false,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { ring_allreduce(b, g, v.all()); },
     .summary = "reduce-scatter and allgather around a ring; for large messages"},
    {.name = "multi_ring",
     .collective = Collective::allreduce,
     .min_credits = {0, 0},
     .rank_order = false,
     .lanes = 2,
     .accepts = rows::any_number,
     .chunks = [](int n) { return 2 * uint32_t(n); },
     .append = [](Builder& b, const Group& g, int,
                  const Blocks& v) { multi_ring_allreduce(b, g, v.all(), 2); },
     .summary = "two rings in opposite directions, half of the vector each"},
    {.name = "ring",
     .collective = Collective::reduce_scatter,
     .min_credits = {0, 0},
     .rank_order = false,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { ring_reduce_scatter(b, g, v); },
     .summary = "n-1 rounds around a ring"},
    {.name = "ring",
     .collective = Collective::allgather,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks& v) { ring_allgather(b, g, v); },
     .summary = "n-1 rounds around a ring"},
};

}  // namespace

Rows ring_rows() noexcept { return kRingRows; }

}  // namespace plait::collectives
