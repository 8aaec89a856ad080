// What the command line of plait-sim asks for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/parameters.h"
#include "sim/places.h"
#include "sim/ways.h"
#include "sim/what_if.h"

namespace plait::simtool {

struct Options {
  std::string room_text;
  sim::Places places;
  sim::Question question;
  uint64_t bytes = 0;
  std::vector<std::string> ways;
  bool all = false;
  double patience = 0;  // seconds for each way; 0: any
  sim::Parameters parameters;
  std::vector<std::string> what_if_texts;
  sim::WhatIf what_if;
  std::string trace, svg, json;                 // files; empty: none
  std::vector<std::string> calibrate, compare;  // files of measured times, to be held against `plan`
  sim::Plan plan;                               // for those two
  std::string write;                            // the name of files; empty: none
};

// The parsed options, or the status to exit with at once (0 after --help and --version, 1 after a mistake,
// which has been explained on stderr).
struct Parsed {
  Options options;
  std::optional<int> exit_status;
};
Parsed parse(int argc, char** argv);

}  // namespace plait::simtool
