// Maps from any of the files that describe one, and the answers about them as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "topology/place.h"
#include "topology/room.h"

namespace plait::topology {

// What was read: a room by rule, or one machine node by node.
struct Map {
  std::optional<Room> room;
  std::optional<Graph> machine;
  Result<Graph> graph() const;  // the room expanded, or the machine
  Result<Fabric> fabric() const;
};
// A room's text, NCCL's XML or hwloc's, told apart by what is in it. Refused with "FILE:LINE: why".
Result<Map> read_map(std::string_view text, const std::string& file);
// Of a file, or of a pod that runs: "icl:emu:/dev/shm/pod".
Result<Map> load_map(const std::string& path);

// Each a few lines, or the reason why there is no answer.
std::string report_levels(const Map& map);
std::string report_nics(const Map& map);
std::string report_rings(const Map& map);
std::string report_trees(const Map& map);
std::string report_dimensions(const Map& map);
std::string report_place(const Fabric& fabric, const Job& job, const Placement& placement);

}  // namespace plait::topology
