// Bandwidth and latency of one size, measured by both sides together.
#pragma once

#include <functional>

#include "perf/pair/session.h"
#include "perf/pair/stream.h"

namespace plait::perf::pair {

// How long a size is measured.
struct Length {
  uint64_t iterations = 0;  // of each connection
  uint32_t seconds = 0;     // so long instead; 0: as many as iterations
  bool infinite = false;    // a row each so many seconds
};
Length length_of(const Options& options);
// --perform_warm_up: as many messages as may be under way, which count for nothing.
Length warm_up_of(const Session& session);

// Of both sides together: both get the same. `interim`: of what this side sends, the rows of an infinite one.
Result<Row> measure_bandwidth(Session& session, size_t bytes, const Length& length,
                              const std::function<Status(const Row&)>& interim);

// Nanoseconds of each turn, there and back, of the client's; none with -D.
struct Latencies {
  Row row;
  std::vector<int64_t> samples;  // in the order in which they were taken
};
Result<Latencies> measure_latency(Session& session, size_t bytes, const Length& length);

// The share of a turn that counts: a read is there and back, else one way is meant.
constexpr double share_of(Operation operation) noexcept { return operation == Operation::read ? 1 : 0.5; }

// Both sides are at the same size, and may begin.
Status meet_at(Session& session, size_t bytes);
// Tells the other side what was measured here, and gives what was measured there. `step`: see serve().
Result<Row> swap_rows(Session& session, const Row& mine, const std::function<bool()>& step = {});

// Until it is called SIGINT and SIGTERM end the process; then they end what runs, in good order.
void catch_interrupts() noexcept;
bool interrupted() noexcept;

}  // namespace plait::perf::pair
