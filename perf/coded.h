// --codec: an allreduce of what could be gradients, with a codec and without in turns: time, what a value
// becomes on the wire, and how far the sums are from true ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perf/memory.h"
#include "perf/options.h"
#include "perf/ranks.h"
#include "perf/watch.h"

namespace plait::perf {

struct CodedRow {
  size_t bytes = 0, count = 0;
  std::string algorithm;
  double coded_us = 0;
  std::optional<double> plain_us = {};  // --compare none
  bool encoded = false;                 // some call was
  double ratio = 1;                     // bytes sent a byte of values
  double error = 0,
         most = 0;  // relative, of the whole vector (2-norm); of an element, by the root mean square

  std::optional<double> speedup() const {
    return plain_us ? std::optional(*plain_us / coded_us) : std::nullopt;
  }
};

class CodedBench {
 public:
  // `comm` stays the caller's.
  CodedBench(const Options& options, plait_comm* comm);
  // Collective. Throws Failure.
  void run();
  int rank() const { return ranks_.rank(); }
  // On rank 0 the rows measured so far; elsewhere empty.
  const std::vector<CodedRow>& rows() const { return rows_; }

 private:
  CodedRow measure(size_t bytes);
  void time(CodedRow& row);
  void look_at_error(CodedRow& row);
  plait_codec_stats stats() const;
  void call(size_t count, const char* codec, uint64_t key, plait_request** request);
  float value(int rank, size_t i) const;

  const Options& options_;
  Ranks ranks_;
  Buffer in_, out_;
  uint64_t key_ = 0;
  Watch watch_;  // of rank 0
  std::vector<CodedRow> rows_;
};

// False, with the reason on stderr, when the file cannot be written.
bool write_json(const std::string& path, const std::vector<CodedRow>& rows, const Options& options);

}  // namespace plait::perf
