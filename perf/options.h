// What the command line of plait-perf asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "perf/collective.h"
#include "perf/dtype.h"
#include "perf/memory.h"
#include "perf/ranks.h"

namespace plait::perf {

// What is done with a call: it is timed and checked; all that could run it take turns; or it is made with a
// codec.
enum class Mode { time, explain, regret, coded };

struct Options {
  Mode mode = Mode::time;
  const Collective* collective = nullptr;
  std::vector<size_t> sizes;  // bytes, ascending
  int iterations = 20;        // but with Mode::time, rounds
  int warmup = 5;
  int checks = 1;  // checked calls a row and placement
  std::vector<const Dtype*> dtypes;
  std::vector<const Op*> ops;
  int root = 0;
  bool all_roots = false;  // a row for each instead
  bool plan = false;       // persistent plans instead of calls
  Memory memory = Memory::allocated;
  bool mixed_memory = false;  // odd ranks use plain memory
  std::string algorithm;      // empty: plait chooses
  double timeout_s = 0;       // 0: plait's own
  int threads = 1;            // ranks in this process
  std::string json, plot;     // files for the rows, or empty
  std::string
      rival;  // what is measured beside plait, in turns; empty: nothing. Of a codec: "none", plait without
  std::string codec;  // as plait_call_config takes it
  Whose whose = Whose::slowest;
  bool iterations_shown = false;  // the spread of single calls, too

  Memory memory_of(int rank) const { return mixed_memory && rank % 2 == 1 ? Memory::plain : memory; }
};

// The parsed options, or the status to exit with at once (0 after --help and the like, 2 after a mistake,
// which has been explained on stderr).
struct Parsed {
  Options options;
  std::optional<int> exit_status;
};
Parsed parse(int argc, char** argv);

// "8", "64K", "1.5M", "2G" (powers of 1024) in bytes; none when it is no size.
std::optional<size_t> parse_size(const std::string& text);

}  // namespace plait::perf
