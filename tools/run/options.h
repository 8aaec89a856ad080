// What the command line of plait-run asks for.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace plait::run {

struct Options {
  int ranks = 1;
  std::vector<std::string> command;  // program and its arguments, never empty
  bool prefix = true;                // put "[rank] " before each line
  std::vector<int> output;           // ranks whose stdout is shown; empty: all
  double grace_s = 5;                // between SIGTERM and SIGKILL
  double timeout_s = 0;              // 0: none
  bool keep_going = false;           // a failing rank does not end the others
  std::string dump;                  // folder where the ranks' records are kept; empty: they are not

  bool shows(int rank) const;
};

// The parsed options, or the status to exit with at once (0 after --help and --version, 2 after a mistake,
// which has been explained on stderr).
struct Parsed {
  Options options;
  std::optional<int> exit_status;
};
Parsed parse(int argc, char** argv);

}  // namespace plait::run
