// What the command line of plait-program asks for.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace plait::program {

struct Options {
  std::string command;             // "list", ...
  std::vector<std::string> words;  // after it: a file, or an algorithm and a collective
  std::string output;              // empty: none given
  std::string name;                // of the algorithm in the file that is written; empty: as it is
  int ranks = 4;
  int root = 0;
  std::optional<int> rank;  // show this one only
  bool in_place = false;
  bool encoded = false;
};

// The parsed options, or the status to exit with at once (0 after --help and --version, 1 after a mistake,
// which has been explained on stderr).
struct Parsed {
  Options options;
  std::optional<int> exit_status;
};
Parsed parse(int argc, char** argv);

}  // namespace plait::program
