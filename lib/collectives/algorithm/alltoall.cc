#include "collectives/algorithm/alltoall.h"

#include <algorithm>

#include "collectives/algorithm/rows.h"

namespace plait::collectives {

void pairwise_alltoall(Builder& b, const Group& g, int lane) {
  // Both of a pair meet in the same round: so no round waits for a later one, even when values in scratch
  // make rounds wait for each other.
  for (int round = 0; round < g.n(); round++) {
    int peer = mod(round - g.me, g.n());
    if (peer == g.me) continue;
    auto out = uint32_t(mod(peer - g.me, g.n())), in = uint32_t(g.n()) - out;
    b.emit({.op = Op::send,
            .lane = uint16_t(lane),
            .peer = g.at(peer),
            .src = b.input(out),
            .chunk = out,
            .count = 1});
    if (g.me > peer) {
      b.recv_apart(g.at(peer), {in, 1}, lane);
    } else {
      b.recv(g.at(peer), {in, 1}, lane);
    }
  }
}

void bruck_alltoall(Builder& b, const Group& g, int lane) {
  for (int64_t d = 1; d < g.n(); d *= 2) {
    Ranges moving;
    for (int64_t j = d; j < g.n(); j += 2 * d) {
      moving.add(Range{uint32_t(j), uint32_t(std::min<int64_t>(d, g.n() - j))});
    }
    b.send(g.at(g.me + int(d)), moving, lane);
    Place at = b.recv_aside(g.at(g.me - int(d)), moving, lane);
    for (Range range : moving.list()) {
      b.settle(range, at);
      at = place(at.in(), at.slot + range.count);
    }
  }
}

namespace {

constexpr Algorithm kAlltoallRows[] = {
    {.name = "pairwise",
     .collective = Collective::alltoall,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks&) { pairwise_alltoall(b, g); },
     .summary = "n rounds, in each of which the ranks pair up and exchange"},
    {.name = "bruck",
     .collective = Collective::alltoall,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one_each,
     .append = [](Builder& b, const Group& g, int, const Blocks&) { bruck_alltoall(b, g); },
     .summary = "log2 n rounds, in which blocks move on by powers of two; for small blocks"},
};

}  // namespace

Rows alltoall_rows() noexcept { return kAlltoallRows; }

}  // namespace plait::collectives
