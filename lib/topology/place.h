// Adjacent allocation: which free chips of a fabric a job should get, so that its ring, line, mesh or tree
// has links of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "topology/fabric.h"

namespace plait::topology {

enum class JobShape : uint8_t { ring, line, mesh, connected };

struct Job {
  JobShape shape = JobShape::ring;
  uint32_t chips = 0;
  std::vector<uint32_t> sides;  // of a mesh; their product is `chips`
};
// "ring", "line", "mesh 2x4" or "2x4", "connected" or "tree". Code::invalid says what is wrong.
Result<Job> parse_job(std::string_view shape, uint32_t chips);
std::string describe(const Job& job);

struct Placement {
  // The job's chips, in the order of the ring, the line or the rows; empty: no place. Where found is false
  // and chips are not empty, they are the best that was found of fewer.
  std::vector<uint32_t> chips;
  bool found = false;
  // All was searched: there is none, or none is better.
  bool proven = false;
  uint32_t bound = 0;      // no more chips than this can be placed in that shape
  uint32_t edge = 0;       // free chips beside it, which its place cuts off from others; fewer are better
  uint32_t inner = 0;      // links among its chips
  double bytes_per_s = 0;  // of the slowest link that the shape uses, each way; 0: not known
  std::string why;         // there is none, or what is not known of it
};

// Up to so many chips a ring is searched exactly.
inline constexpr uint32_t kExactRing = 16;

// Best is: the fastest slowest link, then the fewest free chips beside it. `effort`: steps of search.
Placement place(const Fabric& fabric, const Job& job, uint64_t effort = 30'000'000);

// Empty where the chips are free and have the job's shape; otherwise what is wrong.
std::string check_place(const Fabric& fabric, const Job& job, const std::vector<uint32_t>& chips);

}  // namespace plait::topology
