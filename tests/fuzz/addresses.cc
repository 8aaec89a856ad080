// Text that says where something is: addresses, HOST:PORT lists, Slurm's host lists, PLAIT_IFACE, PLAIT_PORTS
// and PLAIT_NETWORK.
#include "base/address.h"

#include "bootstrap/hostlist.h"
#include "bootstrap/interfaces.h"
#include "bootstrap/resolve.h"
#include "fuzz.h"
#include "runtime/config.h"
#include "runtime/rail_spec.h"

namespace plait::fuzz {
namespace {

using namespace bootstrap;

void try_ip(const std::string& text) {
  const auto ip = parse_ip(text);
  if (!ip.ok()) return;
  require(ip->valid() && ip->port == 0, "an address is valid");
  const auto again = parse_ip(to_string(*ip));
  require(again.ok() && *again == *ip, "an address that is written is read alike");
  const SocketAddress s = to_socket(*ip);
  const Address back = from_socket(s.get(), s.length);
  require(back.valid() && (back.family == 4 || ip->bytes == back.bytes),
          "an address passes through the kernel's form");
}

std::string join(const std::vector<HostPort>& places) {
  std::string text;
  for (const HostPort& p : places) {
    const bool v6 = p.host.find(':') != p.host.npos;
    text += (text.empty() ? "" : ",") + (v6 ? "[" + p.host + "]" : p.host) + ":" + std::to_string(p.port);
  }
  return text;
}

void try_places(const std::string& text) {
  const auto places = parse_host_ports(text);
  if (!places.ok()) return;
  require(!places->empty() && places->size() <= 8, "there are 1 to 8 places");
  for (const HostPort& p : *places)
    require(p.port != 0 && !p.host.empty() && p.host.size() <= 253, "a place is a host and a port");
  const auto again = parse_host_ports(join(*places));
  require(again.ok() && join(*again) == join(*places), "places that are written are read alike");
}

void try_hosts(Input& input) {
  const size_t most = 1 + input.number() % 64u;
  const std::string text = input.text();
  const auto hosts = expand_hosts(text, most);
  if (!hosts.ok()) return;
  require(!hosts->empty() && hosts->size() <= most, "there are 1 to `most` hosts");
  for (const std::string& host : *hosts) {
    require(!host.empty() && host.find_first_of("[], \t") == host.npos, "a host's name has no brackets left");
    // A range of two bytes may become nine digits, "1-999999999"; nothing grows more.
    require(host.size() <= text.size() + 9, "names are about as long as what they come from");
  }
  const auto first = expand_hosts(text, 1);
  require(first.ok() && first->size() == 1 && first->front() == hosts->front(),
          "the first is the first of all");
}

const std::vector<Interface>& some_interfaces() {
  static const std::vector<Interface> all = [] {
    const std::pair<const char*, const char*> there[] = {
        {"lo", "127.0.0.1"},     {"eth0", "10.0.0.5"},      {"eth0", "fd00::5"}, {"eth0", "fe80::5"},
        {"eth1", "192.168.1.5"}, {"docker0", "172.17.0.1"}, {"ib0", "10.1.0.5"}, {"down0", "10.2.0.5"}};
    std::vector<Interface> made;
    for (const auto& [name, address] : there)
      made.push_back({name, *parse_ip(address), std::string_view(name) != "down0"});
    return made;
  }();
  return all;
}

void try_interfaces(const std::string& text) {
  const auto chosen = choose(some_interfaces(), text);
  if (!chosen.ok()) return;
  require(!chosen->empty() && chosen->size() <= some_interfaces().size(), "some of those that are there");
  for (size_t i = 0; i < chosen->size(); i++) {
    const Interface& one = (*chosen)[i];
    require(one.up, "what is down is not chosen");
    for (size_t k = 0; k < i; k++) require(!((*chosen)[k].address == one.address), "none is chosen twice");
  }
}

void try_alternatives(const std::string& text) {
  const auto all = runtime::parse_alternatives(text);
  if (!all.ok()) return;
  require(!all->empty() && all->size() <= runtime::kMostAlternatives, "there are 1 to 4 networks");
  require(runtime::before_shared_memory(*all) <= all->size(), "no more come before shared memory");
  const auto again = runtime::parse_alternatives(to_string(*all));
  require(again.ok() && to_string(*again) == to_string(*all) && kind_of(*again) == kind_of(*all),
          "networks that are written are read alike");
}

void try_network(const std::string& text) {
  try_alternatives(text);
  const auto rails = runtime::parse_network(text);
  if (!rails.ok()) return;
  require(!rails->empty() && rails->size() <= runtime::kMostRails, "there are 1 to 8 rails");
  for (const runtime::RailSpec& rail : *rails) {
    const runtime::RailOptions& o = rail.options;
    require(rail.fabric == runtime::kTcp || o == runtime::RailOptions(), "only TCP has options");
    require(o.connections >= 1 && o.connections <= 4, "bulk has 1 to 4 connections");
    require(o.send_buffer <= 1U << 30 && o.receive_buffer <= 1U << 30, "buffers are bounded");
    require(rail.detail.find_first_of("?,") == rail.detail.npos, "options are not part of a name");
  }
  const auto again = runtime::parse_network(to_string(*rails));
  require(again.ok() && to_string(*again) == to_string(*rails) && kind_of(*again) == kind_of(*rails),
          "a network that is written is read alike");
  for (size_t i = 0; i < rails->size(); i++)
    require((*again)[i].options == (*rails)[i].options, "its options, too");
}

void try_ports(const std::string& text) {
  uint16_t least = 0, most = 0;
  if (!runtime::parse_ports(text, &least, &most).ok()) {
    require(least == 0 && most == 0, "what is wrong changes nothing");
    return;
  }
  require(least >= 1 && least <= most, "a range of ports is one");
  uint16_t low = 0, high = 0;
  const std::string written = std::to_string(least) + "-" + std::to_string(most);
  require(runtime::parse_ports(written, &low, &high).ok() && low == least && high == most,
          "a range that is written is read alike");
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  return try_one_of(data, size, {try_ip, try_places, try_hosts, try_interfaces, try_ports, try_network});
}
