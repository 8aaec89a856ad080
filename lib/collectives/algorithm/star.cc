#include "collectives/algorithm/star.h"

namespace plait::collectives {

void star_broadcast(Builder& b, const Group& g, int root, Range range, int lane) {
  if (g.me != root) return b.recv(g.at(root), range, lane);
  for (int k = 1; k < g.n(); k++) b.send(g.at(root + k), range, lane);
}

}  // namespace plait::collectives
