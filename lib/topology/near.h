// Which NICs the ranks of a host take: the nearest to where each runs, NICs equally near shared out.
#pragma once

#include <sched.h>

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "topology/graph.h"
#include "topology/sysfs_map.h"

namespace plait::topology {

// Where a rank is: its chip, or else the CPUs that it may run on; none: anywhere.
struct RankPlace {
  cpu_set_t cpus{};
  std::optional<PciAddress> chip;
};

struct NearQuestion {
  NicClass nic_class = NicClass::net;
  std::vector<std::string> nics;  // those that may be used, as in SysfsWish
  std::vector<RankPlace> ranks;   // of this host that use these NICs, alike on all of them
  size_t mine = 0;                // which one asks
  size_t rails = 1;               // NICs that each of them takes
};

struct NearAnswer {
  bool placed = false;        // all of nics are of devices, or above some
  std::vector<size_t> taken;  // for each rail, a number of nics; again from the first where there are fewer
  std::vector<std::string> why;    // for each of nics: why it is taken, or is not
  std::vector<std::string> notes;  // what of sysfs was not understood
};

// A function of the question and of the files in ROOT, /sys. Left out are NICs without a device, where any
// has one, and those slower than half of the fastest; what stays is ordered by path, rate and hops
// (levels.h), hops inside of PCI for chips only. The ranks in their order take one each, then the next, of
// those equally near the one that fewest have taken. Code::invalid: no NICs, no rank of number `mine`, no
// rails, or too many.
Result<NearAnswer> nearest_nics(const std::string& root, const NearQuestion& question);

}  // namespace plait::topology
