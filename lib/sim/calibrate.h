// What a room's links and ends must cost for simulated times to be those that were measured.
#pragma once

#include <vector>

#include "base/status.h"
#include "sim/measured.h"
#include "sim/parameters.h"
#include "sim/places.h"

namespace plait::sim {

// A measured call beside its simulation.
struct Held {
  Measured measured;
  bool fitted = false;            // else held back, to be foretold
  double seconds = 0;             // simulated
  double error() const noexcept;  // by so much of the measured time it is off
};

struct Calibrated {
  Plan plan;              // with the latency and rate that were found for links
  Parameters parameters;  // and what ends cost
  std::vector<Held> rows;
  uint32_t simulations = 0;
};

// Fits to half of the sizes of each way, the 1st, 3rd, .. of them, and simulates all. Found are latency and
// rate of the room's links (of ports, in an ideal room), what a message and its bytes cost a core, folding
// and copying, and where it helps the size from which vectors are in memory; the rest is as in `begin`. What
// rows do not tell apart stays near where it began, which is guessed from them. `rows`: merged(), of one
// number of ranks, on the first places that are free. Code::invalid: rooms with links of several kinds, more
// ranks than places, less than four sizes to fit; ways that there are not.
Result<Calibrated> calibrate(const Plan& plan, const Parameters& begin, std::vector<Measured> rows);

// Simulates rows with a plan and parameters as they are, fitting nothing.
Result<std::vector<Held>> foretell(const Plan& plan, const Parameters& parameters,
                                   const std::vector<Measured>& rows);

// Errors of those that were fitted, or of those held back.
std::vector<double> errors_of(const std::vector<Held>& rows, bool fitted);

}  // namespace plait::sim
