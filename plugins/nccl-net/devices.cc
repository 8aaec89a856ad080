#include "devices.h"

#include <algorithm>
#include <cstdlib>

#include "base/host.h"
#include "base/log.h"
#include "bootstrap/interfaces.h"
#include "runtime/modules.h"
#include "runtime/near.h"
#include "runtime/network.h"
#include "runtime/signals.h"
#include "transport/keys.h"
#include "transport/shm/shm.h"

namespace plait::nccl {
namespace {

using runtime::RailSpec;

constexpr int kMostTrafficClass = 255;
constexpr int kUnknownMbps = 10'000;  // NCCL wants some speed

using Interfaces = std::vector<bootstrap::Interface>;

Result<Interfaces> interfaces_of(const std::string& wanted) {
  auto all = bootstrap::list_interfaces();
  if (!all.ok()) return all.status();
  return bootstrap::choose(*all, wanted);
}

// An alias, eth0:1, is its interface.
std::string base_name(const std::string& interface) { return interface.substr(0, interface.find(':')); }

// Rails of `rail` that are each a device of their own.
Result<std::vector<RailSpec>> spread_tcp(const RailSpec& rail, const runtime::Config& config) {
  const bool own = rail.detail.empty() || runtime::asks_near(rail);
  const auto interfaces = interfaces_of(own ? config.interfaces : rail.detail);
  if (!interfaces.ok()) return interfaces.status();
  std::vector<RailSpec> rails;
  for (const bootstrap::Interface& i : *interfaces) {
    RailSpec one = rail;
    one.detail = base_name(i.name);
    const auto same = [&](const RailSpec& r) { return r.detail == one.detail; };
    if (!i.address.link_local() && std::none_of(rails.begin(), rails.end(), same)) rails.push_back(one);
  }
  return rails;
}

Result<std::vector<RailSpec>> spread_verbs(const RailSpec& rail) {
  auto module = runtime::load_module(rail.fabric);
  if (!module.ok()) return module.status();
  const runtime::KeptSignals signals;
  std::vector<RailSpec> rails;
  std::string missing;
  for (const transport::RailListing& port : (*module)->list()) {
    const size_t colon = port.name.find(':');
    if (!port.missing.empty()) missing += "; " + port.name + ": " + port.missing;
    if (!port.missing.empty() || colon == port.name.npos) continue;
    RailSpec one = rail;
    one.detail = port.name.substr(colon + 1);
    rails.push_back(one);
  }
  if (rails.empty()) return Status(Code::unsupported, "there is no port that can be used" + missing);
  return rails;
}

// NCCL looks for the nearest NIC itself, so "near" is all of them. What libfabric and UCX choose is one
// device.
Result<std::vector<RailSpec>> spread(const RailSpec& rail, const runtime::Config& config) {
  if (rail.fabric == runtime::kTcp) return spread_tcp(rail, config);
  if (rail.fabric == runtime::kVerbs && (rail.detail.empty() || runtime::asks_near(rail)))
    return spread_verbs(rail);
  if (rail.fabric == runtime::kIcl)
    return Status(Code::unsupported,
                  "one process runs a chip once, and each of NCCL's connections would open it");
  return std::vector<RailSpec>{rail};
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  return real != nullptr ? real.get() : "";
}

// What a device is of, or lies on: virtio has a bus of its own. Empty: nothing of PCI.
std::string nearest_pci(std::string device) {
  while (device.starts_with("/sys/devices/")) {
    if (real_path(device + "/subsystem").ends_with("/bus/pci")) return device;
    device.resize(device.rfind('/'));
  }
  return {};
}

std::string pci_path_of(const RailSpec& rail) {
  std::string folder = "/sys/class/";
  if (rail.fabric == runtime::kTcp) {
    folder += "net/" + rail.detail;
  } else if (rail.fabric == runtime::kVerbs) {
    folder += "infiniband/" + rail.detail.substr(0, rail.detail.find('/'));
  } else {
    return {};
  }
  return nearest_pci(real_path(folder + "/device"));
}

// Alike for functions of a card, which differ behind the last point of their address.
uint64_t guid_of(const Device& device) {
  const std::string place =
      device.pci_path.empty() ? device.name : device.pci_path.substr(0, device.pci_path.rfind('.'));
  const std::string text = std::to_string(host_id()) + "/" + place;
  return transport::sum_of(std::as_bytes(std::span(text)));
}

int port_of(const RailSpec& rail) {
  const size_t slash = rail.fabric == runtime::kVerbs ? rail.detail.find('/') : std::string::npos;
  return slash == std::string::npos ? 1 : std::max(1, std::atoi(rail.detail.c_str() + slash + 1));
}

// Of a TCP device its own first.
std::vector<Address> addresses_of(const RailSpec& rail, const Interfaces& all) {
  std::vector<Address> own, others;
  for (const bootstrap::Interface& i : all) {
    const bool is_own = rail.fabric == runtime::kTcp && rail.detail == base_name(i.name);
    if (!i.address.link_local()) (is_own ? own : others).push_back(i.address.with_port(0));
  }
  own.insert(own.end(), others.begin(), others.end());
  return own;
}

Result<Device> make_device(const RailSpec& rail, const runtime::Config& config) {
  Device device;
  device.name = to_string(std::vector{rail});
  auto all = bootstrap::list_interfaces();
  if (!all.ok()) return all.status();
  auto usable = bootstrap::choose(*all, config.interfaces);
  if (!usable.ok()) return usable.status();
  // What PLAIT_NETWORK names counts though PLAIT_IFACE, or its default, leaves it out.
  device.addresses = addresses_of(rail, *usable);
  const auto named = addresses_of(rail, *all);
  if (!named.empty() && rail.fabric == runtime::kTcp &&
      std::find(device.addresses.begin(), device.addresses.end(), named.front()) == device.addresses.end())
    device.addresses.insert(device.addresses.begin(), named.front());
  device.rails = {rail};
  DomainChoice choice;
  choice.tls = std::make_shared<const transport::tcp::TlsKey>();  // proves nothing: no peer will be met
  auto domain = open_domain(device, config, choice);
  if (!domain.ok()) return domain.status();
  const auto& caps = (*domain)->capabilities();
  device.speed_mbps = caps.cost.bandwidth_Bps > 0 ? int(caps.cost.bandwidth_Bps * 8 / 1e6) : kUnknownMbps;
  device.latency_us = float(caps.cost.latency_s * 1e6);
  device.device_memory = caps.device_memory;
  device.pci_path = pci_path_of(rail);
  device.port = port_of(rail);
  device.guid = guid_of(device);
  return device;
}

// Those of one network. Rails with commas between are a device each: NCCL spreads what it sends over devices,
// or joins some to virtual ones.
Result<std::vector<Device>> devices_of(const std::vector<RailSpec>& network, const runtime::Config& config) {
  std::vector<RailSpec> wanted;
  for (const RailSpec& one : network) {
    const auto rails = spread(one, config);
    if (!rails.ok()) return rails.status();
    wanted.insert(wanted.end(), rails->begin(), rails->end());
  }
  std::vector<Device> devices;
  Status last(Code::unsupported, "there is no device for it here");
  for (const RailSpec& rail : wanted) {
    auto device = make_device(rail, config);
    if (!device.ok()) {
      last = device.status();
      log::warn("{} is no device for NCCL: {}", to_string(std::vector{rail}), last.text());
      continue;
    }
    device->members = {int(devices.size())};
    devices.push_back(std::move(*device));
  }
  if (devices.empty()) return last;
  return devices;
}

}  // namespace

Result<runtime::Config> read_config() {
  plait_comm_config given{};
  given.struct_size = sizeof given;
  given.size = 1;  // which rank this is NCCL knows
  return runtime::resolve(&given);
}

Result<std::vector<Device>> find_devices(const runtime::Config& config) {
  if (config.network == kShm)
    return devices_of({RailSpec{.fabric = std::string(kShm), .detail = {}}}, config);
  const auto networks = runtime::parse_alternatives(config.network);
  if (!networks.ok()) return networks.status();
  Status last;
  for (const auto& network : *networks) {
    auto devices = devices_of(network, config);
    if (devices.ok()) return devices;
    last = Status(devices.status().code(),
                  "the network \"" + to_string(network) + "\": " + std::string(devices.status().text()));
    log::info("{}", last.text());
  }
  return last;
}

Result<Device> join_devices(const std::vector<std::unique_ptr<Device>>& all,
                            const std::vector<int>& members) {
  const auto refused = [](const std::string& why) {
    return Status(Code::invalid, "these devices cannot be joined to a virtual one: " + why);
  };
  if (members.size() < 2 || members.size() > runtime::kMostRails)
    return refused(std::to_string(members.size()) + " of them, there can be 2 to " +
                   std::to_string(runtime::kMostRails));
  Device joined;
  joined.members = members;
  joined.device_memory = true;
  for (size_t i = 0; i < members.size(); i++) {
    const auto before = members.begin() + ptrdiff_t(i);
    const bool there = members[i] >= 0 && size_t(members[i]) < all.size();
    if (!there || std::find(members.begin(), before, members[i]) != before ||
        all[size_t(members[i])]->members.size() != 1)
      return refused("device " + std::to_string(members[i]) + " is none, virtual itself, or named twice");
    const Device& one = *all[size_t(members[i])];
    joined.name += (i == 0 ? "" : "+") + one.name;
    joined.rails.push_back(one.rails.front());
    joined.speed_mbps += one.speed_mbps;
    joined.latency_us = std::max(joined.latency_us, one.latency_us);
    joined.device_memory = joined.device_memory && one.device_memory;
    for (const Address& a : one.addresses) {
      if (std::find(joined.addresses.begin(), joined.addresses.end(), a) == joined.addresses.end())
        joined.addresses.push_back(a);
    }
    // A peer may have more rails than this device or less, and then any two may meet.
    if (runtime::kind_of({one.rails.front()}) != runtime::kind_of({joined.rails.front()}))
      return refused(joined.name + " are of different networks");
  }
  joined.guid = guid_of(joined);
  return joined;
}

Result<std::unique_ptr<transport::Domain>> open_domain(const Device& device, const runtime::Config& config,
                                                       const DomainChoice& choice) {
  if (choice.traffic_class < -1 || choice.traffic_class > kMostTrafficClass)
    return Status(Code::invalid, "a traffic class of " + std::to_string(choice.traffic_class) +
                                     ": there are 0 to 255, and -1 for none");
  if (device.rails.front().fabric == kShm) return transport::shm::make_domain({.host_id = config.host_id});
  std::vector<RailSpec> rails;
  for (size_t i = 0; i < choice.rails; i++) {
    RailSpec& rail = rails.emplace_back(device.rails[i % device.rails.size()]);
    // What PLAIT_NETWORK says comes first.
    const bool takes = choice.traffic_class >= 0 && rail.fabric == runtime::kVerbs;
    if (takes && rail.how.find("traffic_class=") == std::string::npos)
      rail.how += (rail.how.empty() ? "" : "+") + ("traffic_class=" + std::to_string(choice.traffic_class));
  }
  runtime::Place place;
  place.interfaces = config.interfaces;
  place.port_min = config.port_min;
  place.port_max = config.port_max;
  place.link_mbps = config.link_mbps;
  place.tls = choice.tls;
  place.settle_ms = config.timeout_ms;
  return runtime::open_network(rails, place);
}

}  // namespace plait::nccl
