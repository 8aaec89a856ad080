// Options of perftest that nothing here takes. A command line that was written for perftest gets to know why.
#pragma once

#include <span>
#include <string>

#include "perf/pair/tool.h"

namespace CLI {
class App;
}

namespace plait::perf::pair {

struct Refused {
  const char* names;  // as CLI11 has them: "-O,--dualport"
  bool takes_value;
  bool (*of)(Tool);  // which tools refuse it
  const char* why;
};
std::span<const Refused> refused_options();

// Lets `app` know them, so that their values are not taken for something else.
void add_refused(CLI::App& app, Tool tool);
// Empty; or which of them was given, and why it is refused: a sentence.
std::string refusal(const CLI::App& app, Tool tool);

}  // namespace plait::perf::pair
