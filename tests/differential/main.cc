// Runs under Open MPI's mpirun: each case by plait and by MPI on the same inputs, and compares. Integers and
// data that is only moved must be the same bit by bit, and so must every byte around them; reductions of
// floats must lie within the documented bound (values.h), minima and maxima be the same.
#include <mpi.h>
#include <plait/plait.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

#include "differential/call.h"
#include "differential/values.h"

namespace plait::differential {
namespace {

struct Options {
  uint64_t seed = 1;
  size_t cases = 500;
  bool full = false;
  std::string hosts = "one";
};

struct Tally {
  uint64_t compared = 0, refused = 0, different = 0;
};

bool inexact(const Case& c) {
  const bool folds = c.op->id != PLAIT_MIN && c.op->id != PLAIT_MAX;
  return collectives::reduces(c.collective) && c.dtype->is_float && folds;
}

// The sum of the sizes of what all ranks put into one element, of a product its size.
double magnitude(const Case& c, int n, size_t index) {
  double all = c.op->id == PLAIT_PROD ? 1 : 0;
  for (int rank = 0; rank < n; rank++) {
    std::byte bytes[8];
    store_value(*c.dtype, c.seed, rank, index, bytes);
    const double size = std::fabs(load_float(*c.dtype, bytes));
    all = c.op->id == PLAIT_PROD ? all * size : all + size;
  }
  return c.op->id == PLAIT_AVG ? all / n : all;
}

// The first element of this rank's result that is not what it should be, in words; empty when there is none.
std::string difference(const Case& c, const Shape& s, int rank, int n, const Buffers& got,
                       const Buffers& want, const std::vector<double>& reduced) {
  if (!inexact(c) && reduced.empty()) {
    if (got.in != want.in) return "the input buffer differs";
    if (got.out == want.out) return "";
    const auto at = std::mismatch(got.out.begin(), got.out.end(), want.out.begin()).first - got.out.begin();
    return "byte " + std::to_string(at) + " of " + std::to_string(got.out.size()) + " differs";
  }
  if (!s.has_out) return "";
  const bool scattered = c.collective == collectives::Collective::reduce_scatter;
  const size_t first = scattered ? size_t(s.in_places[size_t(rank)]) : 0;
  // In place the part lies within the input.
  const bool inside = c.in_place && scattered;
  const std::byte* mine = inside ? got.in.data() + first * c.dtype->size : got.out.data();
  const std::byte* theirs = inside ? want.in.data() + first * c.dtype->size : want.out.data();
  for (size_t i = 0; i < s.out_elements; i++) {
    const double value = load_float(*c.dtype, mine + i * c.dtype->size);
    const double expected = reduced.empty() ? load_float(*c.dtype, theirs + i * c.dtype->size) : reduced[i];
    // Both sides may be as far from the truth as that.
    const double bound = inexact(c) ? 2 * error_bound(*c.dtype, n, magnitude(c, n, first + i)) : 0;
    if (!(std::fabs(value - expected) <= bound)) {
      return "element " + std::to_string(i) + " is " + std::to_string(value) + ", not " +
             std::to_string(expected) + " +- " + std::to_string(bound);
    }
  }
  return "";
}

// False: plait failed, and nothing further can be compared.
bool compare(const Case& c, plait_comm* comm, int rank, int n, Tally& tally) {
  const Shape shape = shape_of(c, rank, n);
  Buffers got = fill(c, shape, rank), want = got;
  const plait_status status = run_plait(c, shape, comm, rank, c.seed % 2 == 0, got);
  int mine = int(status), least = 0, most = 0;
  MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (least != most || (status != PLAIT_OK && status != PLAIT_ERR_UNSUPPORTED)) {
    std::printf("rank %d: %s: %s: %s\n", rank, describe(c).c_str(), plait_status_string(status),
                status == PLAIT_OK ? "another rank failed" : plait_last_error(comm));
    std::fflush(stdout);
    tally.different++;
    return false;
  }
  if (status == PLAIT_ERR_UNSUPPORTED) {
    tally.refused++;
    return true;
  }
  std::vector<double> reduced;
  run_mpi(c, shape, rank, want, reduced);
  tally.compared++;
  const std::string what = difference(c, shape, rank, n, got, want, reduced);
  if (!what.empty()) {
    tally.different++;
    std::printf("rank %d: %s: %s\n", rank, describe(c).c_str(), what.c_str());
    std::fflush(stdout);
  }
  return true;
}

plait_comm* join(const Options& options, int rank, int n) {
  plait_unique_id id{};
  if (plait_init(nullptr) != PLAIT_OK) return nullptr;
  if (rank == 0 && plait_get_unique_id(nullptr, 0, 0, &id) != PLAIT_OK) return nullptr;
  MPI_Bcast(id.bytes, sizeof id.bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  plait_comm_config config{};
  config.struct_size = sizeof config;
  config.rank = rank;
  config.size = n;
  config.unique_id = &id;
  config.timeout_ms = 60'000;
  const std::string host = "host-" + std::to_string(rank);
  if (options.hosts == "each") config.host_id = host.c_str();
  plait_comm* comm = nullptr;
  return plait_comm_create(&config, &comm) == PLAIT_OK ? comm : nullptr;
}

int run(const Options& options) {
  int rank = 0, n = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  plait_comm* comm = join(options, rank, n);
  if (comm == nullptr) {
    std::printf("rank %d: no communicator: %s\n", rank, plait_last_error(nullptr));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  auto cases = all_cases(n, options.seed);
  if (!options.full) cases = drawn(std::move(cases), options.cases, options.seed);
  Tally tally;
  for (const Case& c : cases) {
    if (!compare(c, comm, rank, n, tally)) break;
  }
  uint64_t counts[2] = {tally.compared, tally.different}, sums[2] = {};
  MPI_Reduce(counts, sums, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Bcast(sums, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("%d ranks, %s, seed %llu: %llu comparisons, %llu different; %llu of %zu cases refused\n", n,
                options.hosts == "each" ? "TCP" : "shared memory",
                static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(sums[0]),
                static_cast<unsigned long long>(sums[1]), static_cast<unsigned long long>(tally.refused),
                cases.size());
  }
  plait_comm_destroy(comm);
  plait_finalize();
  return sums[1] == 0 && sums[0] > 0 ? 0 : 1;
}

}  // namespace
}  // namespace plait::differential

int main(int argc, char** argv) {
  plait::differential::Options options;
  CLI::App app{"Compares plait's collectives with MPI's on the same inputs; run it under Open MPI's mpirun."};
  app.add_option("--seed", options.seed, "of inputs, counts and the cases drawn (default 1)");
  app.add_option("--cases", options.cases, "how many cases are drawn (default 500)");
  app.add_flag("--full", options.full, "all cases");
  app.add_option("--hosts", options.hosts,
                 "one: all ranks share memory; each: each is as on a host of its own (TCP)")
      ->check(CLI::IsMember({"one", "each"}));
  CLI11_PARSE(app, argc, argv);
  MPI_Init(&argc, &argv);
  const int status = plait::differential::run(options);
  MPI_Finalize();
  return status;
}
