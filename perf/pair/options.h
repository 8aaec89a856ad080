// The options of plait_{write,read,send}_{bw,lat}: those of perftest, as far as they mean something here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "perf/pair/tool.h"

namespace plait::perf::pair {

constexpr uint16_t kPort = 18515;
constexpr size_t kMostBytes = size_t{1} << 30;  // of a message
constexpr uint32_t kMostQps = 256;
constexpr uint32_t kMostSends = 248;  // under way on a connection
constexpr uint64_t kMostIterations = 1'000'000'000;
constexpr uint64_t kMostSamples = 20'000'000;  // of latency: each is kept

// What is printed: all of it, or a number a row, and nothing else.
enum class Output : uint8_t { report, bandwidth, message_rate, latency };

// What only verbs takes; text, as PLAIT_NETWORK has it behind its question mark.
struct VerbsOptions {
  std::string text;      // "gid_index=1+connect=cm"
  std::string flags;     // "-x, -R": the options that it came from
  uint32_t ib_port = 0;  // 0: not given
  bool rdma_cm = false;
};

struct Options {
  Tool tool;
  std::string server;  // its host; empty: this is the server
  uint16_t port = kPort;
  std::string device;  // empty: the first RDMA device, else TCP
  VerbsOptions verbs;
  std::vector<size_t> sizes;
  uint64_t iterations = 0;  // of each connection
  uint32_t seconds = 0;     // so long instead; 0: as many as iterations
  uint32_t qps = 1, depth = 128, post_list = 1;
  bool depth_given = false;
  uint32_t rx_depth = 0;    // receives posted; 0: as many as messages may be under way
  uint32_t news_every = 1;  // so many writes tell together that they arrived
  uint32_t gap_us = 0;      // of latency: from the end of a turn to the next one
  bool bidirectional = false, infinite = false, reversed = false;
  bool warm_up = false, no_peak = false;
  double least_bandwidth = 0, least_mpps = 0;  // below: exit status 1. In the report's unit
  Output output = Output::report;
  bool events = false, validate = false;
  bool gbits = false, histogram = false, unsorted = false;
  std::string json;       // a file; empty: none
  double timeout_s = 30;  // without a sign of the other side
  double wait_s = 3600;   // of a server, for its client

  bool is_server() const noexcept { return server.empty(); }
};

struct Parsed {
  Options options;
  std::optional<int> exit_status;  // set: there is nothing to run
};

// Prints help, version and complaints itself.
Parsed parse(Tool tool, int argc, const char* const* argv);
// Fits a screen.
std::string help_of(Tool tool);

}  // namespace plait::perf::pair
