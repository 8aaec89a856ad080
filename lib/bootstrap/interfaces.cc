#include "bootstrap/interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <memory>

#include "base/file.h"

namespace plait::bootstrap {
namespace {

// Inside a host only: what containers and virtual machines hang on. A container's own eth0 is not among them.
constexpr std::array kInner = {"docker", "virbr",   "cni",  "veth", "br-", "vnet",
                               "tap",    "flannel", "cali", "lxc",  "lxd", "podman"};

bool inner(std::string_view name) {
  return std::any_of(kInner.begin(), kInner.end(), [&](std::string_view p) { return name.starts_with(p); });
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

struct Subnet {
  Address address;
  unsigned bits;
};

// "10.0.0.0/8" or an address, which is a subnet of one.
Result<Subnet> parse_subnet(std::string_view text) {
  const size_t slash = text.find('/');
  auto address = parse_ip(text.substr(0, slash));
  if (!address.ok()) return address.status();
  const unsigned most = address->family == 4 ? 32 : 128;
  unsigned bits = most;
  if (slash != text.npos) {
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data() + slash + 1, end, bits);
    if (error != std::errc() || stop != end || bits > most) {
      return Status(Code::invalid, "\"" + std::string(text) + "\" is no subnet: after / come 0 to " +
                                       std::to_string(most) + " bits");
    }
  }
  return Subnet{*address, bits};
}

bool within(const Address& address, const Subnet& subnet) {
  if (address.family != subnet.address.family) return false;
  for (unsigned bit = 0; bit < subnet.bits; bit++) {
    const unsigned mask = 0x80u >> (bit % 8);
    if (((address.bytes[bit / 8] ^ subnet.address.bytes[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

std::string names_of(const std::vector<Interface>& all) {
  std::string text;
  for (const Interface& i : all) {
    text += (text.empty() ? "" : ", ") + i.name + " (" + to_string(i.address) + (i.up ? ")" : ", down)");
  }
  return text.empty() ? "none" : text;
}

// Adds those that `wanted` names.
void add_matching(const std::vector<Interface>& all, std::string_view wanted, std::vector<Interface>& to) {
  const auto subnet = parse_subnet(wanted);
  for (const Interface& i : all) {
    if (!i.up || !(subnet.ok() ? within(i.address, *subnet) : i.name == wanted)) continue;
    const bool there = std::any_of(to.begin(), to.end(), [&](auto& t) { return t.address == i.address; });
    if (!there) to.push_back(i);
  }
}

// 0 is best.
int rank_of(const Interface& i) {
  if (i.address.loopback()) return 3;
  if (inner(i.name)) return 2;
  return i.address.family == 6 && i.address.link_local() ? 1 : 0;
}

}  // namespace

Result<std::vector<Interface>> list_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return Status::system(errno, "listing network interfaces (getifaddrs)");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  std::vector<Interface> all;
  for (const ifaddrs* i = first; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_name == nullptr) continue;
    const bool v4 = i->ifa_addr->sa_family == AF_INET;
    if (!v4 && i->ifa_addr->sa_family != AF_INET6) continue;
    const Address address = from_socket(i->ifa_addr, v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    all.push_back({i->ifa_name, address, (i->ifa_flags & IFF_UP) != 0 && (i->ifa_flags & IFF_RUNNING) != 0});
  }
  return all;
}

Result<std::vector<Interface>> choose(const std::vector<Interface>& all, std::string_view wanted) {
  std::vector<Interface> left, chosen;
  const auto entries = split(wanted);
  auto is_out = [&](const Interface& i) {
    return std::any_of(entries.begin(), entries.end(),
                       [&](std::string_view e) { return e.front() == '^' && e.substr(1) == i.name; });
  };
  std::copy_if(all.begin(), all.end(), std::back_inserter(left), [&](auto& i) { return i.up && !is_out(i); });
  // One list serves hosts that name their interfaces differently: an entry may fit nothing here, all of them
  // may not.
  bool named = false;
  for (std::string_view entry : entries) {
    if (entry.front() == '^') continue;
    named = true;
    add_matching(left, entry, chosen);
  }
  if (named && chosen.empty()) {
    return Status(Code::invalid, "PLAIT_IFACE: no interface that is up fits \"" + std::string(wanted) +
                                     "\"; there are: " + names_of(all));
  }
  if (named) return chosen;
  // All of the best kind there is; link-local addresses stand behind the others of their interface.
  std::stable_sort(left.begin(), left.end(), [](auto& a, auto& b) { return rank_of(a) < rank_of(b); });
  const int best = left.empty() ? 0 : rank_of(left.front());
  std::erase_if(left, [&](auto& i) { return rank_of(i) > std::max(best, 1); });
  if (left.empty()) {
    return Status(Code::invalid, "PLAIT_IFACE=" + std::string(wanted) +
                                     " leaves no interface that is up; there are: " + names_of(all));
  }
  return left;
}

uint32_t speed_mbps(std::string_view name) {
  // An alias, eth0:1, is as fast as its interface.
  name = name.substr(0, name.find(':'));
  if (name.empty() || name.find('/') != name.npos) return 0;
  std::ifstream file("/sys/class/net/" + std::string(name) + "/speed");
  int64_t mbps = 0;
  return file >> mbps && mbps > 0 && mbps <= UINT32_MAX ? uint32_t(mbps) : 0;
}

Result<Address> source_for(const Address& peer, const std::vector<Interface>& among) {
  if (!among.empty()) {
    for (const Interface& i : among) {
      if (i.address.family == peer.family && i.address.link_local() == peer.link_local()) return i.address;
    }
    return Status(Code::invalid, "no interface of PLAIT_IFACE has an address to reach " + to_string(peer) +
                                     " from; they are: " + names_of(among));
  }
  // The kernel's choice, told by a socket that never sends.
  Fd fd(::socket(peer.family == 6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return Status::system(errno, "socket");
  const SocketAddress to = to_socket(peer.with_port(peer.port == 0 ? 9 : peer.port));
  if (::connect(fd.get(), to.get(), to.length) != 0)
    return Status::system(errno, "no route to " + to_string(peer));
  SocketAddress from;
  from.length = sizeof from.storage;
  if (::getsockname(fd.get(), from.get(), &from.length) != 0) return Status::system(errno, "getsockname");
  return from_socket(from.get(), from.length).with_port(0);
}

}  // namespace plait::bootstrap
