// plait-program: the programs of collectives, from the table or from files, to look at and to exchange.
#include <cstdio>
#include <string>

#include "tools/program/commands.h"

int main(int argc, char** argv) {
  const plait::program::Parsed parsed = plait::program::parse(argc, argv);
  if (parsed.exit_status) return *parsed.exit_status;
  const plait::Status status = plait::program::carry_out(parsed.options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "plait-program: %s\n", std::string(status.text()).c_str());
  return 1;
}
