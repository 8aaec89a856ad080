#include "perf/pair/device.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

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

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "0/2": the server's chip, the client's. Of the only pod there is, unless "emu:/dev/shm/pod#0/2" names one.
Result<std::string> chip_of(const std::string& name, bool server) {
  const std::string text = name.substr(name.find(':') + 1);
  const size_t hash = text.find('#'), begin = hash == text.npos ? 0 : hash + 1;
  const size_t slash = text.rfind('/');
  if (slash == text.npos || slash < begin || !is_number(text.substr(begin, slash - begin)) ||
      !is_number(text.substr(slash + 1)))
    return name;
  const std::string chip = server ? text.substr(begin, slash - begin) : text.substr(slash + 1);
  if (hash != text.npos) return "icl:" + text.substr(0, hash) + "#" + chip;
  std::string found, others;
  for (const RailListing& pod : listed(runtime::kIcl)) {
    others += (others.empty() ? "" : ", ") + pod.name;
    if (pod.name.find(':') != pod.name.npos) found = found.empty() ? pod.name : "several";
  }
  if (found.empty())
    return Status(Code::unsupported, "-d " + name + ": there is no pod here (icl-pod create makes one)");
  if (found == "several")
    return Status(Code::invalid, "-d " + name + ": there are several pods (" + others +
                                     "); name one: -d icl:emu:/dev/shm/POD#" + text);
  return found + "#" + chip;
}

Result<std::string> full_name(const Options& o) {
  if (o.device.empty()) return first_device();
  const std::string fabric = o.device.substr(0, o.device.find_first_of(":?"));
  if (fabric == runtime::kIcl) return chip_of(o.device, o.is_server());
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
    if (o.verbs.flags.empty()) return Device{true, {}};
    return Status(Code::unsupported, o.verbs.flags + ": only RDMA devices take that, not shm");
  }
  auto name = full_name(o);
  if (!name.ok()) return name.status();
  auto rails = runtime::parse_network(*name);
  if (!rails.ok()) return rails.status();
  PLAIT_TRY(add_verbs_options(o, *rails));
  return Device{false, std::move(*rails)};
}

Result<std::unique_ptr<transport::Domain>> open_device(const Device& device, const Address& met,
                                                       const bootstrap::SecretPtr& secret) {
  if (device.shm) return transport::shm::make_domain({.host_id = environment("PLAIT_HOST_ID")});
  const auto place = place_of(met, secret, runtime::wants_tls(device.rails));
  if (!place.ok()) return place.status();
  return runtime::open_network(device.rails, *place);
}

}  // namespace plait::perf::pair
