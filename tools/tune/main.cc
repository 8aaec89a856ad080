// plait-tune: measures the algorithms of collectives on this machine, for communicators to choose by.
#include <cstdio>
#include <string>

#include "tools/tune/combine.h"
#include "tools/tune/measure.h"

namespace plait::tune {
namespace {

bool complain(int rank, std::string_view text) {
  const std::string who = rank < 0 ? "" : "rank " + std::to_string(rank) + ": ";
  std::fprintf(stderr, "plait-tune: %s%s\n", who.c_str(), std::string(text).c_str());
  return false;
}

bool measure_here(const Options& options) {
  plait_comm* comm = nullptr;
  if (plait_comm_create(nullptr, &comm) != PLAIT_OK) return complain(-1, plait_last_error(nullptr));
  int32_t rank = 0;
  plait_comm_rank(comm, &rank);
  const Status status = measure(options, comm);
  bool good = status.ok() || complain(rank, status.text());
  if (plait_comm_destroy(comm) != PLAIT_OK && good) good = complain(rank, plait_last_error(nullptr));
  return good;
}

int run(const Options& options) {
  if (!options.combine.empty()) {
    const Status status = combine(options.combine, options.out);
    return status.ok() || complain(-1, status.text()) ? 0 : 1;
  }
  if (plait_init(nullptr) != PLAIT_OK) return complain(-1, plait_last_error(nullptr)), 1;
  const bool good = measure_here(options);
  return plait_finalize() == PLAIT_OK && good ? 0 : 1;
}

}  // namespace
}  // namespace plait::tune

int main(int argc, char** argv) {
  const plait::tune::Parsed parsed = plait::tune::parse(argc, argv);
  return parsed.exit_status ? *parsed.exit_status : plait::tune::run(parsed.options);
}
