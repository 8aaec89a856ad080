#include "collectives/algorithm/ring.h"

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

}  // namespace plait::collectives
