// A program set: the programs of all ranks of one algorithm, as files hold them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "collectives/algorithms.h"
#include "collectives/program.h"
#include "documents/text_file.h"

namespace plait::collectives::exchange {

// How much of a file is believed. Each number is compared before anything is allocated or looped over for it,
// so that a file of some bytes cannot ask for gigabytes.
struct Limits {
  size_t bytes = size_t{256} << 20;  // of the file
  uint32_t ranks = 4096;
  uint32_t chunks = 1u << 20;
  uint32_t scratch = 1u << 20;        // slots of one rank
  uint64_t steps = 1u << 23;          // of all ranks, in place and out of place
  uint64_t cells = 1u << 25;          // places of all ranks
  uint64_t touches = 1u << 26;        // how often steps read or write a place, chunk by chunk
  uint64_t thread_blocks = 1u << 16;  // of an MSCCL program
};

// Where a set comes from, for sentences such as "ring.json:17: ...".
struct Origin {
  std::string file;
  // Of each step the line it was read from: [in place][rank][step]. Empty for what was built here.
  std::array<std::vector<std::vector<uint32_t>>, 2> lines;
};

struct ProgramSet {
  std::string name;  // of the algorithm
  Collective collective = Collective::allreduce;
  int32_t root = 0;  // where the collective has one
  // [0]: out of place, [1]: in place. Each by rank, or empty where the set has none.
  std::array<std::vector<Program>, 2> programs;
  Origin origin;

  bool has(bool in_place) const noexcept { return !programs[in_place].empty(); }
  const std::vector<Program>& some() const noexcept { return programs[has(false) ? 0 : 1]; }
  // Neither set is empty: has(false) or has(true).
  int32_t ranks() const noexcept { return int32_t(some().size()); }
  uint32_t chunks() const noexcept { return some().front().chunks; }
};

// All programs of an algorithm of the table, in place and out of place. As Algorithm::build().
ProgramSet build_set(const Algorithm& algorithm, int n, int root);

// The collective of that name; false, with nothing changed, where there is none.
bool find_collective(std::string_view name, Collective& collective) noexcept;

// Adds up what a file asks for. Each call says why it is too much, or returns an empty string.
class Budget {
 public:
  explicit Budget(const Limits& limits) noexcept : limits_(limits) {}
  std::string header(uint64_t ranks, uint64_t chunks) const;
  // The places of one more rank.
  std::string rank(uint64_t chunks, uint64_t scratch);
  std::string step(const Step& step);

 private:
  Limits limits_;
  uint64_t cells_ = 0, steps_ = 0, touches_ = 0;
};

using documents::read_file;
using documents::refuse;
using documents::write_file;

// What a refusal of prove() says, with the file and, where it names a step, the line that this step was read
// from.
Status located(const ProgramSet& set, bool in_place, const Status& status);

// What is wrong with numbers that must agree whatever the format; empty when nothing is. `chunks` fits the
// collective.
std::string check_chunks(Collective collective, uint32_t ranks, uint32_t chunks);

}  // namespace plait::collectives::exchange
