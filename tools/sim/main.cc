// plait-sim: how long collectives take on networks that are described, and what limits them.
#include <cstdio>
#include <string>

#include "tools/sim/commands.h"

int main(int argc, char** argv) {
  plait::simtool::Parsed parsed = plait::simtool::parse(argc, argv);
  if (parsed.exit_status) return *parsed.exit_status;
  const plait::Status status = plait::simtool::carry_out(parsed.options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "plait-sim: %s\n", std::string(status.text()).c_str());
  return 1;
}
