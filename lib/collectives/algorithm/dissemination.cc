#include "collectives/algorithm/dissemination.h"

#include "collectives/algorithm/rows.h"

namespace plait::collectives {

void dissemination_barrier(Builder& b, const Group& g, uint32_t chunk, int lane) {
  for (int64_t distance = 1; distance < g.n(); distance *= 2) {
    int d = int(distance);
    b.send(g.at(g.me + d), {chunk, 1}, lane);
    b.recv_reduce_aside(g.at(g.me - d), {chunk, 1}, lane);
  }
}

namespace {

constexpr Algorithm kDisseminationRows[] = {
    {.name = "dissemination",
     .collective = Collective::barrier,
     .min_credits = {0, 0},
     .rank_order = true,
     .accepts = rows::any_number,
     .chunks = rows::one,
     .append = [](Builder& b, const Group& g, int,
                  const Blocks& v) { dissemination_barrier(b, g, v.all().first); },
     .summary = "ceil(log2 n) rounds of messages without bytes"},
};

}  // namespace

Rows dissemination_rows() noexcept { return kDisseminationRows; }

}  // namespace plait::collectives
