#include "collectives/algorithm/dissemination.h"

namespace plait::collectives {

void dissemination_barrier(Builder& b, const Group& g, uint32_t chunk, int lane) {
  for (int64_t distance = 1; distance < g.n(); distance *= 2) {
    int d = int(distance);
    b.send(g.at(g.me + d), {chunk, 1}, lane);
    b.recv_reduce_aside(g.at(g.me - d), {chunk, 1}, lane);
  }
}

}  // namespace plait::collectives
