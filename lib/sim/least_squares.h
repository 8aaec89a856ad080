// Parameters that make residuals small.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"

namespace plait::sim {

using Values = std::vector<double>;

struct Descent {
  Values at;         // the parameters
  double merit = 0;  // the sum of what residuals count, there
  uint32_t evaluations = 0;
};

// From `begin` downhill, until steps of `at` become small or `rounds` are over: Gauss and Newton's steps,
// damped as by Levenberg (1944) and Marquardt (1963), derivatives by differences of `step`. Residuals beyond
// `knee` count in proportion only (Huber 1964), so that a few that cannot be met do not spoil the others.
// `residuals` returns as many numbers each time, or what went wrong, which ends it.
Result<Descent> least_squares(const Values& begin,
                              const std::function<Result<Values>(const Values&)>& residuals, double knee,
                              double step = 1e-3, uint32_t rounds = 40);

}  // namespace plait::sim
