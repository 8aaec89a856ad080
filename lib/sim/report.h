// What a run was like, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "sim/engine.h"
#include "sim/ways.h"

namespace plait::sim {

// A run and what it was of. References outlive it.
struct Report {
  std::string room, way;
  Question question;
  uint64_t bytes = 0;
  uint32_t segments = 1;
  Parameters parameters;
  std::vector<std::string> what_if;
  const Network* network = nullptr;
  Outcome outcome;
  size_t scripts = 0;  // distinct programs
  // Pairs of ranks that send over the busiest link: some of them, and how many there are.
  std::vector<std::pair<int32_t, int32_t>> crossing;
  uint64_t crossings = 0;
};

// Finds those, once all else is there.
void find_crossing(Report& report, const Scripts& scripts);

// "1.35 ms", "4.2 us"; "1.5 GB/s"; "256 MiB".
std::string time_text(double seconds);
std::string rate_text(double bytes_per_second);
std::string size_text(uint64_t bytes);

double algorithm_bandwidth(const Report& report);  // bytes a second; 0 where nothing is moved
double bus_bandwidth(const Report& report);

// "97 %". The part of the run's time that so many seconds are.
std::string percent_text(double share);
double per_time(const Report& report, double seconds);

// What each Path::Part is called in tables, and in words.
struct PartWords {
  const char *name, *says;
};
const PartWords& words_of(Path::Part part);

// The link that is nearest to its limit: the bytes that it carried, by those it could have carried in the
// time.
struct Busiest {
  uint32_t link = kNone;
  double share = 0;  // of its limit
  double busy = 0;   // of the time
};
Busiest busiest_link(const Report& report);
// All that carried anything, the nearest to their limits first.
std::vector<Busiest> links_by_use(const Report& report);

// The page that plait-sim prints: result, what limits it, links, ranks.
std::string words_of(const Report& report);
// What limits the run, in a line or two.
std::string verdict(const Report& report);
// One line of a table of ways, and its head.
std::string table_head();
std::string table_row(const Report& report);
std::string table_gap(const std::string& way, const std::string& why);

std::string to_json(const Report& report);
// A process for each rank, a track for its core and for each peer that it sends to.
std::string to_trace(const Report& report);
// A row for each rank, or for a share of them: at work, sending, waiting; below, the busiest links.
std::string to_svg(const Report& report);

}  // namespace plait::sim
