// Which port of which device, and which of its GIDs: chosen by rules that are functions of tables.
#pragma once

#include <infiniband/verbs.h>

#include <functional>
#include <span>
#include <string>

#include "transport/verbs/verbs.h"
#include "transport/verbs/wire.h"

namespace plait::transport::verbs {

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

}  // namespace plait::transport::verbs
