// Pods of chips with links of their own, as their driver enumerates them (docs/icl.md).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "topology/graph.h"

struct icl_device;

namespace plait::topology {

// What the device's pod is now: a chip for each, by number; taken where a process runs it, dead where it died
// (one whose process left it, or that nobody has run yet, is free). Links as the ports say, all of two chips
// together: as the far end tells, else as the pod is planned. Those that are down while both chips run are
// left out: holes. A rate of 0: the driver knows none. Any thread; nothing of the device is changed.
Result<Graph> read_icl(icl_device* device);
// The same of a driver's address, "emu:/dev/shm/pod", which is opened to look and owns no chip.
Result<Graph> read_icl(const std::string& address);

// What a path begins with that is such an address: "icl:emu:/dev/shm/pod".
inline constexpr std::string_view kIclPrefix = "icl:";

}  // namespace plait::topology
