#include "runtime/near.h"

#include <algorithm>

#include "base/log.h"
#include "bootstrap/interfaces.h"
#include "runtime/modules.h"
#include "runtime/network.h"
#include "runtime/signals.h"

namespace plait::runtime {
namespace {

using topology::PciAddress;

constexpr uint64_t kIsDevice = uint64_t{1} << 63;

uint64_t packed(const PciAddress& a) noexcept {
  return kIsDevice | uint64_t{a.domain} << 24 | uint64_t{a.bus} << 16 | uint64_t{a.device} << 8 | a.function;
}

std::optional<PciAddress> unpacked(uint64_t device) noexcept {
  if ((device & kIsDevice) == 0) return std::nullopt;
  return PciAddress{uint32_t(device >> 24), uint8_t(device >> 16), uint8_t(device >> 8), uint8_t(device)};
}

// An alias, eth0:1, is its interface.
std::string interface_of(const bootstrap::Interface& i) { return i.name.substr(0, i.name.find(':')); }

Result<std::vector<bootstrap::Interface>> usable_interfaces(const Place& place) {
  auto all = bootstrap::list_interfaces();
  if (!all.ok()) return all.status();
  return bootstrap::choose(*all, place.interfaces);
}

Result<std::vector<std::string>> names_of_tcp(const Place& place) {
  const auto usable = usable_interfaces(place);
  if (!usable.ok()) return usable.status();
  std::vector<std::string> names;
  for (const bootstrap::Interface& i : *usable) {
    if (std::ranges::find(names, interface_of(i)) == names.end()) names.push_back(interface_of(i));
  }
  return names;
}

Result<std::vector<std::string>> names_of_module(std::string_view fabric) {
  auto module = load_module(fabric);
  if (!module.ok()) return module.status();
  const KeptSignals signals;
  std::vector<std::string> names;
  for (const transport::RailListing& port : (*module)->list()) {
    const size_t colon = port.name.find(':');
    if (port.missing.empty() && colon != port.name.npos) names.push_back(port.name.substr(colon + 1));
  }
  return names;
}

// All that are usable, as PLAIT_IFACE takes them, those of `nearest` first.
Result<std::string> addresses_from(const std::string& nearest, const Place& place) {
  auto usable = usable_interfaces(place);
  if (!usable.ok()) return usable.status();
  std::stable_partition(usable->begin(), usable->end(),
                        [&](const auto& i) { return interface_of(i) == nearest; });
  std::string text;
  for (const bootstrap::Interface& i : *usable) text += (text.empty() ? "" : ",") + to_string(i.address);
  return text;
}

void tell(std::string_view fabric, const NearNics& near, const Place& place) {
  for (const std::string& note : near.answer.notes) log::info("{}", note);
  for (size_t i = 0; i < near.names.size(); i++) {
    const bool taken = std::ranges::find(near.answer.taken, i) != near.answer.taken.end();
    log::info("rank {} {} {}:{}: {}", place.rank, taken ? "takes" : "leaves", fabric, near.names[i],
              near.answer.why[i]);
  }
}

// Those of one fabric.
Status settle(std::string_view fabric, std::vector<RailSpec>& rails, const Place& place) {
  std::vector<RailSpec*> asking;
  for (RailSpec& rail : rails) {
    if (rail.fabric == fabric && asks_near(rail)) asking.push_back(&rail);
  }
  if (asking.empty()) return {};
  const auto near = near_nics(fabric, asking.size(), place);
  if (!near.ok()) return near.status();
  if (!near->names.empty()) tell(fabric, *near, place);
  for (size_t i = 0; i < asking.size(); i++) {
    RailSpec& rail = *asking[i];
    // Without any, what opens it says why.
    if (near->names.empty() || (rail.detail.empty() && !near->answer.placed)) {
      rail.detail.clear();
      continue;
    }
    rail.detail = near->names[near->answer.taken[i]];
    if (fabric != kTcp) continue;
    auto addresses = addresses_from(rail.detail, place);
    if (!addresses.ok()) return addresses.status();
    rail.detail = std::move(*addresses);
  }
  return {};
}

}  // namespace

HostRanks ranks_of_host(std::span<const Seat> seats, std::span<const int32_t> host_of, size_t mine) {
  HostRanks host;
  for (size_t r = 0; r < seats.size(); r++) {
    if (host_of[r] != host_of[mine]) continue;
    if (r == mine) host.mine = host.ranks.size();
    host.ranks.push_back({seats[r].cpus, unpacked(seats[r].device)});
  }
  return host;
}

bool asks_near(const RailSpec& rail) noexcept {
  if (rail.fabric != kTcp && rail.fabric != kVerbs) return false;
  return rail.detail == kNear || rail.detail.starts_with(kNearDevice) ||
         (rail.fabric == kVerbs && rail.detail.empty());
}

Result<uint64_t> near_device(const Alternatives& networks) {
  uint64_t device = 0;
  for (const auto& rails : networks) {
    for (const RailSpec& rail : rails) {
      if (!asks_near(rail) || !rail.detail.starts_with(kNearDevice)) continue;
      const auto address = topology::parse_pci(std::string_view(rail.detail).substr(kNearDevice.size()));
      const uint64_t its = address ? packed(*address) : 0;
      if (device != 0 && its != device)
        return Status(Code::invalid, "the network \"" + to_string(networks) +
                                         "\" names two devices behind near=: a rank works with one");
      device = its;
    }
  }
  return device;
}

Result<NearNics> near_nics(std::string_view fabric, size_t rails, const Place& place) {
  auto names = fabric == kTcp ? names_of_tcp(place) : names_of_module(fabric);
  if (!names.ok()) return names.status();
  NearNics near{std::move(*names), {}};
  if (near.names.empty()) return near;
  topology::NearQuestion question{
      .nic_class = fabric == kTcp ? topology::NicClass::net : topology::NicClass::infiniband,
      .nics = near.names,
      .ranks = place.here.ranks,
      .mine = place.here.mine,
      .rails = rails};
  if (question.ranks.empty()) question.ranks.push_back({my_seat().cpus, {}});
  auto answer = topology::nearest_nics(place.sysfs, question);
  if (!answer.ok()) return answer.status();
  near.answer = std::move(*answer);
  return near;
}

Result<std::vector<RailSpec>> settle_near(const std::vector<RailSpec>& rails, const Place& place) {
  std::vector<RailSpec> settled = rails;
  for (std::string_view fabric : {kTcp, kVerbs}) PLAIT_TRY(settle(fabric, settled, place));
  return settled;
}

}  // namespace plait::runtime
