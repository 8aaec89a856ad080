// Rooms as text.
#include "map.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait;
  using namespace plait::topology;
  const auto room = parse_room({reinterpret_cast<const char*>(data), size}, "x");
  if (fuzz::refused(room)) return 0;
  const std::string written = write_room(*room);
  const auto again = parse_room(written, "again");
  fuzz::require(again.ok() && *again == *room, "what is written is read");
  fuzz::require(!describe(*room).empty() && dimensions(*room).size() <= kMostFactors + 1,
                "it can be described");
  if (room->hosts * uint64_t(room->chips_per_host + room->nics_per_host + room->cores_per_host +
                             room->sockets_per_host + 2) >
      2000)
    return 0;
  const auto graph = expand(*room);
  if (graph.ok()) fuzz::check_graph(*graph);
  const auto fabric = fabric_of(*room);
  if (!fabric.ok() || fabric->chips() > 64) return 0;
  for (const uint32_t k : {4u, 7u, 16u, 20u}) {
    for (const JobShape shape : {JobShape::ring, JobShape::line, JobShape::connected}) {
      const Job job{shape, k, {}};
      const Placement p = place(*fabric, job, 20000);
      fuzz::require(!p.found || check_place(*fabric, job, p.chips).empty(), "a place is one");
    }
  }
  return 0;
}
