#include "collectives/chunkwise.h"

namespace plait::collectives {

Program chunkwise(const Program& program) {
  Program apart = program;
  apart.steps.clear();
  auto at = [](Place base, uint32_t k) {
    return base.in() == Buffer::none ? kNowhere : place(base.in(), base.slot + k);
  };
  for (const Step& s : program.steps) {
    for (uint32_t k = 0; k < s.count; k++) {
      Step one = s;
      one.flags = uint8_t(s.flags & ~kMore);
      one.dst = at(s.dst, k);
      one.src = at(s.src, k);
      one.src2 = at(s.src2, k);
      one.chunk = s.chunk + k;
      one.count = 1;
      apart.steps.push_back(one);
    }
  }
  (void)derive_dependencies(apart);  // its places are those of `program`
  return apart;
}

}  // namespace plait::collectives
