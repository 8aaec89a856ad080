#pragma once

#include "transport/fake/fake.h"

namespace plait::collectives::real::test {

// A fabric that maps memory or not, reorders and delays, as the seed says.
inline transport::fake::FakeOptions moods(uint64_t seed) {
  transport::fake::FakeOptions o;
  o.seed = seed;
  o.mapped = seed % 2 == 0;
  o.reorder = seed % 3 != 0;
  o.delay_max = uint32_t(seed % 5) * 4;
  return o;
}

}  // namespace plait::collectives::real::test
