// What the command line of plait-topo asks for.
#pragma once

#include <optional>
#include <string>

namespace plait::topo {

struct Options {
  std::string command = "show";
  std::string file;      // empty: this machine, or `room`
  std::string room;      // the text of one, lines parted by ';'
  std::string svg, dot;  // where to write; empty: not
  bool json = false;
  uint32_t chips = 0;
  std::string shape = "ring";
};

// The parsed options, or the status to exit with at once (0 after --help and --version, 1 after a mistake,
// which has been explained on stderr).
struct Parsed {
  Options options;
  std::optional<int> exit_status;
};
Parsed parse(int argc, char** argv);

}  // namespace plait::topo
