// What a tool prints: the banner and the columns of perftest, so that those who read these can read ours.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "perf/pair/options.h"
#include "perf/pair/row.h"

namespace plait::perf::pair {

// What the banner tells of a connection.
struct Setup {
  std::string device;   // "tcp:eth0"
  std::string control;  // "TCP, plain"
  std::string local, remote;
  uint32_t depth = 1;
  size_t inline_bytes = 0;
};

// Where a row is less than -w or -y ask for: a sentence; else empty.
std::string shortfall(const Options& options, const Row& row);

class Report {
 public:
  explicit Report(const Options& options, std::FILE* to = stdout) : options_(options), to_(to) {}

  void waiting(uint16_t port) const;  // of a server; says the port where the kernel chose it
  void banner(const Setup& setup) const;
  void columns() const;
  void row(const Row& row) const;
  // All results of -H and -U, in nanoseconds of whole turns.
  void samples(std::vector<int64_t> samples) const;
  void end(uint64_t wrong) const;

 private:
  const char* line() const noexcept;
  void number(const Row& row) const;
  const Options& options_;
  std::FILE* const to_;
};

// Code::system.
Status write_json(const std::string& path, const Options& options, const Setup& setup,
                  const std::vector<Row>& rows);
// The text of the file.
std::string json_of(const Options& options, const Setup& setup, const std::vector<Row>& rows);

}  // namespace plait::perf::pair
