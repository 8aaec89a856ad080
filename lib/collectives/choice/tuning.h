// Measured times of algorithms: a file that plait-tune writes, and communicators choose by. It comes from
// outside, so it is checked wholly before anything in it is used. docs/tuning.md shows one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "collectives/collective.h"

namespace plait::collectives {

// The machine that it was measured on, for people to read.
struct TuningMachine {
  std::string cpu, date;
  uint32_t cores = 0, hosts = 1;
};

struct TuningCase {
  Collective collective = Collective::barrier;
  int32_t ranks = 1, hosts = 1;
  bool in_place = false;
  friend auto operator<=>(const TuningCase&, const TuningCase&) = default;
};

// What one size took, in seconds, by each algorithm that was measured.
struct TuningRow {
  uint64_t bytes = 0;
  std::map<std::string, double, std::less<>> seconds = {};
};

// More are refused.
constexpr size_t kMostTuningBytes = 4 << 20;
constexpr size_t kMostTuningCases = 4096, kMostTuningRows = 256, kMostTuningNames = 64, kMostTuningName = 64;
constexpr size_t kMostTuningText = 256;
constexpr int32_t kMostTuningRanks = 1 << 24;

struct Tuning {
  TuningMachine machine;
  std::map<TuningCase, std::vector<TuningRow>> cases;  // rows by bytes, ascending

  // What `algorithm` takes for so many bytes: between two measured sizes on the line that joins them, below
  // the smallest as long as that, above the largest in proportion. Nothing where it was not measured at both.
  std::optional<double> seconds(const TuningCase& what, std::string_view algorithm, uint64_t bytes) const;
};

// Code::invalid: "tuning: line 7: ..." with the reason. Nothing of what is wrong is used. `text` may hold
// anything.
Result<Tuning> parse_tuning(std::string_view text);
// The same of a file. Code::system, Code::invalid; both name the path.
Result<Tuning> read_tuning(const std::string& path);

// As parse_tuning() reads it; equal for equal tunings, so that ranks may compare hashes of it (base/hash.h).
std::string write_tuning(const Tuning& tuning);

}  // namespace plait::collectives
