// The simulator: when does what happen, if the programs of all ranks run on a network?
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "sim/fluid.h"
#include "sim/network.h"
#include "sim/parameters.h"
#include "sim/script.h"

namespace plait::sim {

// What the time of a run went to, along the chain of events that led to its end: they add up to all of it.
struct Path {
  enum Part : uint8_t {
    compute,   // folds and copies
    overhead,  // the cores' part of messages
    wire,      // bytes, as fast as a message alone would move
    sharing,   // what they took longer because others were in the same links
    latency,
    queue,  // for a core, a port, an engine, a credit
    parts
  };
  std::array<double, parts> seconds{};
  double total() const noexcept;
  double& operator[](Part part) noexcept { return seconds[part]; }
  double operator[](Part part) const noexcept { return seconds[part]; }
};

// Adds up to `finish`: the core at work, else a message of its own leaving, else neither.
struct RankUse {
  double computing = 0, sending = 0, waiting = 0, finish = 0;
  int32_t waits_for = -1;  // whose messages ended most of the waiting
  double waited = 0;       // for them
};

// Of the timeline.
struct Slice {
  enum class Kind : uint8_t { send, recv, local, flight };
  double begin, end;
  int32_t rank, peer;  // a flight: from, to
  uint32_t node, segment;
  uint16_t lane;
  Kind kind;
};

// A rank that never finishes: it waits for a message of `peer`, or for one of its own to get over `link`.
struct Stuck {
  int32_t rank = -1, peer = -1;
  uint32_t link = kNone;
  bool dead = false;
};

struct Outcome {
  double seconds = 0;  // until the last rank has finished, of those that do
  uint64_t messages = 0, events = 0, refills = 0;
  Path path;
  std::vector<RankUse> ranks;
  std::vector<Fluid::Use> links;
  std::vector<Stuck> stuck;  // empty: all have finished
  std::vector<Slice> slices;
  bool slices_cut = false;  // there were more than kMostSlices
};

constexpr size_t kMostSlices = 500'000;

struct Options {
  bool timeline = false;
  // Called every so often with the share that is done; false ends the run with Code::timeout.
  std::function<bool(double share)> progress;
};

// Runs `scripts` on the first places of the network. Memory: a few hundred bytes a rank, two bytes a node for
// each segment under way, and what is in flight. The result is the same on every machine, bit for bit.
// Code::invalid: messages that nobody expects or sends, or of other chunks than expected; parameters that are
// not sound.
Result<Outcome> simulate(const Scripts& scripts, const Cut& cut, const Network& network,
                         const Parameters& parameters, std::span<const Change> changes = {},
                         const Options& options = {});

}  // namespace plait::sim
