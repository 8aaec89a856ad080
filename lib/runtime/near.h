// Rails whose NIC PLAIT_NETWORK leaves to the map of the machine: "tcp:near", "verbs:near", "verbs" alone,
// and "near=" with the PCI address of the device that a rank works with. What they take is named before they
// are opened, so what opens them knows of names only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/cores.h"
#include "runtime/rail_spec.h"
#include "topology/near.h"

namespace plait::runtime {

struct Place;  // of network.h

// The ranks of this host, in the order of their numbers, and which of them is this one.
struct HostRanks {
  std::vector<topology::RankPlace> ranks;
  size_t mine = 0;
};
// `host_of`: of each rank, from 0 on. Functions of what all ranks told.
HostRanks ranks_of_host(std::span<const Seat> seats, std::span<const int32_t> host_of, size_t mine);

// Is its NIC to be found?
bool asks_near(const RailSpec& rail) noexcept;
// The device that near= names, as a Seat has it; 0: none. Code::invalid: two different ones.
Result<uint64_t> near_device(const Alternatives& networks);

// What there is of a fabric, and which of it the rails take.
struct NearNics {
  std::vector<std::string> names;  // "eth0"; "mlx5_0", "mlx5_0/2"
  topology::NearAnswer answer;
};
// Of those that could be used: interfaces that PLAIT_IFACE, or its default, chooses; ports that the module
// can use. Empty: there are none. `fabric`: one that asks_near() of. Any thread.
Result<NearNics> near_nics(std::string_view fabric, size_t rails, const Place& place);

// The rails with names in place of what asks_near(), and a line of the log (info) for each NIC. Over TCP the
// addresses of the other interfaces come behind those of the nearest, for peers that it does not lead to.
// `verbs` alone stays as it is, the first port, where some port is of no device that has a place.
Result<std::vector<RailSpec>> settle_near(const std::vector<RailSpec>& rails, const Place& place);

}  // namespace plait::runtime
