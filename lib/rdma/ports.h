// Which port of which device, and which of its GIDs: chosen by rules that are functions of tables.
#pragma once

#include <infiniband/verbs.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "rdma/gid.h"

namespace plait::rdma {

// A port of a device of this machine.
struct Port {
  std::string device;
  uint8_t port = 0;
  std::string why_not;       // it cannot be used; empty: it can
  std::string link;          // "Ethernet", "InfiniBand"
  int gid_index = -1;        // chosen by rule
  std::string gid, gid_why;  // "10.0.0.1 (RoCE v2)"; why this one
  double bandwidth_Bps = 0;
  uint32_t mtu = 0;  // bytes
  uint64_t max_message = 0;
  bool memory_windows = false, on_demand_paging = false, dmabuf = false;
};
// All of them, those that cannot be used too. `none`: why there are none.
std::vector<Port> find_ports(std::string* none = nullptr);
// "Ethernet, MTU 1024, 12.5 GB/s, GID 1 10.0.0.1 (RoCE v2)"
std::string describe(const Port& port);

struct GidEntry {
  uint32_t index = 0;
  Link link{};
  Gid gid{};
};
struct GidChoice {
  GidEntry entry;
  std::string why;  // for the log
};
// Of the GIDs of one port: RoCE v2 before v1, since v2 is routed; then an IPv4 address, a global IPv6
// address, one of the link only; then the first. `wanted` >= 0: that index. Code::invalid when it is not
// there, Code::unsupported when there is none at all.
Result<GidChoice> choose_gid(std::span<const GidEntry> table, int wanted);

struct OpenPort {
  Port port;
  ibv_port_attr attributes{};
  GidChoice gid;
};
// Looks at one port of an opened device.
OpenPort look_at(ibv_context& context, uint8_t port, int gid_index);

// Calls `each` for every device of this machine until it says true; why there are none, or empty.
std::string for_each_device(const std::function<bool(ibv_device&)>& each);

uint32_t bytes_of_mtu(ibv_mtu mtu) noexcept;
double bandwidth_of(const ibv_port_attr& attributes) noexcept;  // bytes a second; 0: not known
bool has_dmabuf(ibv_context& context) noexcept;

}  // namespace plait::rdma
