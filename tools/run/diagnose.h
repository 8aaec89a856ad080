// What the records of a job's ranks say together: where they differ.
#pragma once

#include <string>
#include <vector>

#include "tools/run/record.h"

namespace plait::run {

// "rank 3", "ranks 0-2, 5"; sorted. Very long lists end with "and 7 more".
std::string ranks_text(const std::vector<int>& ranks);

constexpr size_t kMostLines = 20;

// The difference between the ranks of each communicator, in at most kMostLines lines; none without records.
// `fates`, by rank, says why a rank may have left no record: "it was killed by SIGKILL". What it does not say
// is taken to be that the rank did not answer.
std::vector<std::string> compare(const std::vector<Record>& records, const std::vector<std::string>& fates);

}  // namespace plait::run
