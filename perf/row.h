// One measured row, and the two ways it goes out: the table and JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "perf/collective.h"
#include "perf/options.h"

namespace plait::perf {

struct Row {
  const Collective* collective;
  const Dtype* dtype;
  const Op* op;
  int ranks, root;
  size_t count, bytes;
  bool in_place;
  std::string algorithm, transport;
  int iterations;
  double median_us;
  Spread calls;
  std::optional<double> rival_us = {};  // the median; none: nothing else was measured, or it cannot do that
  std::optional<uint64_t> wrong = {};   // elements; none: not checked
  double checked_most_us = 0;           // of the checked calls, on the slowest rank

  double algorithm_GBps() const { return median_us > 0 ? double(bytes) / median_us / 1e3 : 0; }
  // Above 1: plait is faster.
  std::optional<double> ratio() const {
    return rival_us && median_us > 0 ? std::optional(*rival_us / median_us) : std::nullopt;
  }
  double bus_GBps() const { return algorithm_GBps() * bus_factor(*collective, ranks); }
};

// Who takes part, for the head of the table.
struct Member {
  int32_t rank, pid;
  char host[56];
};

// About four digits, whatever the size of the number.
std::string number(double value);

void print_head(const Options& options, const std::vector<Member>& members, const std::string& transport);
// `in_place` is nullptr where there is no such thing.
void print_row(const Options& options, const Row& out_of_place, const Row* in_place);
// Also for a run that failed half-way: `wrong` of what was checked until then.
void print_foot(const Options& options, const std::vector<Row>& rows);

// Elements that were wrong, over all rows.
uint64_t total_wrong(const std::vector<Row>& rows);

// False, with the reason on stderr, when the file cannot be written.
bool write_json(const std::string& path, const std::vector<Row>& rows, const std::string& rival);

}  // namespace plait::perf
