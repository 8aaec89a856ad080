// What checks came to: a table, a summary, or JSON.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "perf/nccl/checks.h"

namespace plait::nccl_drive {

enum class Verdict { pass, fail, not_exercised };

struct Row {
  int point;
  std::string what;
  Verdict verdict;
  std::string why;  // empty for pass
};

Row row_of(const Named& check, const Status& status);
const char* name_of(Verdict verdict);

// "  4  FAIL  connect first: connect had not returned after 10 s: it blocks".
void print_row(const Row& row);
// Counts, and the points that are not kept; `bytes`: that arrived and were right.
void print_summary(const std::vector<Row>& rows, uint64_t bytes, bool good);
void print_json(const std::string& plugin, int version, const std::vector<Row>& rows, uint64_t bytes,
                bool good);

// None failed, and bytes moved where `moving`.
bool good(const std::vector<Row>& rows, uint64_t bytes, bool moving);

}  // namespace plait::nccl_drive
