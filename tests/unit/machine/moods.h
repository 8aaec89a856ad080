#pragma once

#include "collectives/machine/real/machine.h"
#include "transport/fake/fake.h"

namespace plait::collectives::real::test {

// A fabric that maps memory or not, reorders and delays, as the seed says.
inline transport::fake::FakeOptions moods(uint64_t seed) {
  transport::fake::FakeOptions o;
  o.seed = seed;
  o.mapped = seed % 2 == 0;
  o.reorder = seed % 3 != 0;
  o.delay_max = uint32_t(seed % 5) * 4;
  o.capabilities.target_must_poll = seed % 4 == 1;  // then what is received lands where it is wanted
  return o;
}

// As where ranks share cores, for half of the seeds, of fabrics of either kind.
inline size_t eager(uint64_t seed) { return seed / 2 % 2 == 0 ? 0 : kEagerBytes; }

}  // namespace plait::collectives::real::test
