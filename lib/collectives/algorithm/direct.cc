#include "collectives/algorithm/direct.h"

namespace plait::collectives {

namespace {

// Receives everybody's value of `range` and folds them in the order of members. Nearest first, as peers send:
// no member is sent to by all at once.
void fold_everybody(Builder& b, const Group& g, Range range, int lane) {
  std::vector<Place> operands(size_t(g.n()), kNowhere);
  for (int k = 1; k < g.n(); k++) {
    operands[size_t(mod(g.me - k, g.n()))] = b.recv_aside(g.at(g.me - k), range, lane, kChain);
  }
  b.fold_chain(range, operands, kLast);
}

}  // namespace

void direct_reduce_scatter(Builder& b, const Group& g, const Blocks& blocks, int lane) {
  for (int k = 1; k < g.n(); k++) b.send(g.at(g.me + k), blocks[g.me + k], lane);
  fold_everybody(b, g, blocks[g.me], lane);
}

void direct_allgather(Builder& b, const Group& g, const Blocks& blocks, int lane) {
  for (int k = 1; k < g.n(); k++) b.send(g.at(g.me + k), blocks[g.me], lane);
  for (int k = 1; k < g.n(); k++) b.recv(g.at(g.me - k), blocks[g.me - k], lane);
}

void direct_allreduce(Builder& b, const Group& g, Range range, int lane) {
  auto blocks = split(range, g.n());
  direct_reduce_scatter(b, g, blocks, lane);
  direct_allgather(b, g, blocks, lane);
}

void all_to_all_allreduce(Builder& b, const Group& g, Range range, int lane) {
  for (int k = 1; k < g.n(); k++) b.send(g.at(g.me + k), range, lane);
  fold_everybody(b, g, range, lane);
}

}  // namespace plait::collectives
