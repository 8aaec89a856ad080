#include "perf/pair/device.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "bootstrap/crypto.h"
#include "runtime/config.h"
#include "runtime/modules.h"
#include "runtime/network.h"
#include "runtime/signals.h"
#include "transport/shm/shm.h"

namespace plait::perf::pair {
namespace {

using runtime::RailSpec;
using transport::RailListing;

constexpr std::string_view kShm = "shm";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_interface(const std::string& name) {
  return name.find('/') == name.npos && access(("/sys/class/net/" + name).c_str(), F_OK) == 0;
}

std::vector<RailListing> listed(std::string_view fabric) {
  auto module = runtime::load_module(fabric);
  if (!module.ok()) return {{std::string(fabric), "", std::string(module.status().text())}};
  const runtime::KeptSignals signals;
  return (*module)->list();
}

// As perftest does: the first RDMA device that can be used. Where there is none, TCP.
std::string first_device() {
  for (const RailListing& port : listed(runtime::kVerbs))
    if (port.missing.empty()) return port.name;
  return std::string(runtime::kTcp);
}

// Neither a transport nor an interface: an RDMA device.
Result<std::string> rdma_device(const std::string& name) {
  std::string known;
  for (const RailListing& port : listed(runtime::kVerbs)) {
    if (port.name.substr(0, port.name.find('/')) == "verbs:" + name.substr(0, name.find('/')))
      return "verbs:" + name;
    known += (known.empty() ? "" : ", ") +
             (port.missing.empty() ? port.name : port.name + " (" + port.missing + ")");
  }
  return Status(Code::invalid,
                "-d " + name + ": no RDMA device, network interface or transport (shm, tcp, icl, ofi, ucx, " +
                    "verbs) of that name; of RDMA there is: " + known);
}

// "0/2", the server's chip and the client's, or "emu:/dev/shm/pod#0/2".
struct Chips {
  std::string pod;  // empty: the only one there is
  uint32_t server = 0, client = 0;
};

bool take_chip(std::string_view text, uint32_t& chip) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), chip);
  return error == std::errc() && stop == text.data() + text.size();
}

std::optional<Chips> chips_of(std::string_view name) {
  const std::string_view text = name.substr(std::min(name.find(':'), name.size() - 1) + 1);
  const size_t hash = text.find('#'), begin = hash == text.npos ? 0 : hash + 1, slash = text.rfind('/');
  Chips chips;
  if (slash == text.npos || slash < begin || !take_chip(text.substr(begin, slash - begin), chips.server) ||
      !take_chip(text.substr(slash + 1), chips.client))
    return std::nullopt;
  if (hash != text.npos) chips.pod = "icl:" + std::string(text.substr(0, hash));
  return chips;
}

Result<std::string> only_pod(const std::string& name) {
  std::vector<std::string> pods;
  for (const RailListing& pod : listed(runtime::kIcl))
    if (pod.name.find(':') != pod.name.npos) pods.push_back(pod.name);
  if (pods.size() == 1) return pods.front();
  if (pods.empty())
    return Status(Code::unsupported, "-d " + name + ": there is no pod here (icl-pod create makes one)");
  return Status(Code::invalid, "-d " + name + ": there are several pods, " + pods[0] + " and " + pods[1] +
                                   "; name one, as in -d " + pods[0] + "#0/2");
}

Result<std::string> chip_name(const Options& o) {
  const auto chips = chips_of(o.device);
  if (!chips) return o.device;
  auto pod = chips->pod.empty() ? only_pod(o.device) : Result<std::string>(chips->pod);
  if (!pod.ok()) return pod;
  return *pod + "#" + std::to_string(o.is_server() ? chips->server : chips->client);
}

Result<std::string> full_name(const Options& o) {
  if (o.device.empty()) return first_device();
  const std::string fabric = o.device.substr(0, o.device.find_first_of(":?"));
  if (fabric == runtime::kIcl) return chip_name(o);
  const auto modules = runtime::module_names();
  if (fabric == runtime::kTcp || std::ranges::find(modules, fabric) != modules.end()) return o.device;
  if (is_interface(o.device)) return "tcp:" + o.device;
  return rdma_device(o.device);
}

// -x and its like go to verbs, and to nothing else.
Status add_verbs_options(const Options& o, std::vector<RailSpec>& rails) {
  for (RailSpec& rail : rails) {
    if (rail.fabric != runtime::kVerbs) {
      if (o.verbs.flags.empty()) continue;
      return {Code::unsupported, o.verbs.flags + ": only RDMA devices take that, not " + to_string(rail)};
    }
    std::string text = o.verbs.text;
    if (o.depth_given && o.depth > 128)
      text += (text.empty() ? "" : "+") + ("depth=" + std::to_string(o.depth));
    if (!text.empty()) rail.how += (rail.how.empty() ? "" : "+") + text;
    if (o.verbs.ib_port == 0) continue;
    if (rail.detail.empty() || rail.detail.find('/') != rail.detail.npos)
      return {Code::invalid, "-i: name the device, and its port once (-d mlx5_0 -i 2)"};
    rail.detail += "/" + std::to_string(o.verbs.ib_port);
  }
  return {};
}

Result<runtime::Place> place_of(const Address& met, const bootstrap::SecretPtr& secret, bool tls) {
  runtime::Place place;
  place.for_communicator = false;
  place.interfaces = environment("PLAIT_IFACE");
  if (met.valid()) place.known.push_back(met.with_port(0));
  if (const std::string ports = environment("PLAIT_PORTS"); !ports.empty())
    PLAIT_TRY(runtime::parse_ports(ports, &place.port_min, &place.port_max));
  if (tls && secret) {
    transport::tcp::TlsKey key;
    key.bytes = bootstrap::derive(secret->bytes(), {}, "plait pair 1: key of TLS on TCP").bytes;
    place.tls = std::make_shared<const transport::tcp::TlsKey>(key);
  }
  return place;
}

}  // namespace

std::string Device::kind() const { return shm ? std::string(kShm) : runtime::kind_of(rails); }
std::string Device::name() const { return shm ? std::string(kShm) : runtime::to_string(rails); }

Result<Device> find_device(const Options& o) {
  if (o.device == kShm) {
    if (o.verbs.flags.empty()) return Device{true, {}, {}};
    return Status(Code::unsupported, o.verbs.flags + ": only RDMA devices take that, not shm");
  }
  auto name = full_name(o);
  if (!name.ok()) return name.status();
  auto rails = runtime::parse_network(*name);
  if (!rails.ok()) return rails.status();
  PLAIT_TRY(add_verbs_options(o, *rails));
  Device device{false, std::move(*rails), {}};
  if (const auto chips = chips_of(o.device); chips && device.rails.front().fabric == runtime::kIcl)
    device.chips = {chips->server, chips->client};
  return device;
}

Result<std::unique_ptr<transport::Domain>> open_device(const Device& device, const Address& met,
                                                       const bootstrap::SecretPtr& secret) {
  if (device.shm) return transport::shm::make_domain({.host_id = environment("PLAIT_HOST_ID")});
  const auto place = place_of(met, secret, runtime::wants_tls(device.rails));
  if (!place.ok()) return place.status();
  return runtime::open_network(device.rails, *place);
}

std::vector<std::unique_ptr<transport::Domain>> open_chips_on_the_way(const Device& device) {
  constexpr uint32_t kMostChips = 64;
  std::vector<std::unique_ptr<transport::Domain>> open;
  if (device.chips.empty()) return open;
  RailSpec rail = device.rails.front();
  rail.detail.resize(rail.detail.find('#'));
  const std::string pod = rail.detail;
  for (uint32_t chip = 0; chip < kMostChips; chip++) {
    if (std::ranges::find(device.chips, chip) != device.chips.end()) continue;
    rail.detail = pod + "#" + std::to_string(chip);
    auto domain = runtime::open_network({rail}, {});
    if (!domain.ok() && domain.status().code() == Code::state) continue;  // another process runs it
    if (!domain.ok()) break;                                              // there are no more
    open.push_back(std::move(*domain));
  }
  return open;
}

}  // namespace plait::perf::pair
