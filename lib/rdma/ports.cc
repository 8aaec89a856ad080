#include "rdma/ports.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace plait::rdma {

namespace {

int family_rank(const Gid& gid) noexcept {
  if (is_ip4(gid)) return 0;
  return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80 ? 2 : 1;
}

std::string name_of(const GidEntry& entry) {
  const char* kinds[] = {"", "InfiniBand", "RoCE v1", "RoCE v2"};
  return to_string(entry.gid) + " (" + kinds[size_t(entry.link)] + ")";
}

std::vector<GidEntry> table_of(ibv_context& context, const OpenPort& open) {
  std::vector<GidEntry> table;
  for (uint32_t i = 0; i < uint32_t(std::max(0, open.attributes.gid_tbl_len)); ++i) {
    ibv_gid_entry raw{};
    if (ibv_query_gid_ex(&context, open.port.port, i, &raw, 0) != 0 || raw.gid_type > IBV_GID_TYPE_ROCE_V2)
      continue;
    GidEntry& entry = table.emplace_back();
    entry.index = raw.gid_index;
    entry.link = Link(raw.gid_type + 1);
    std::memcpy(entry.gid.data(), raw.gid.raw, entry.gid.size());
  }
  return table;
}

std::string why_not(const OpenPort& open, const Status& gid) {
  const ibv_port_attr& a = open.attributes;
  if (a.link_layer != IBV_LINK_LAYER_ETHERNET && a.link_layer != IBV_LINK_LAYER_INFINIBAND)
    return "its link is neither Ethernet nor InfiniBand";
  if (a.state != IBV_PORT_ACTIVE)
    return std::string("its port is ") + ibv_port_state_str(a.state) +
           ", not active: look at the cable, the interface (ip link) or the subnet manager";
  return gid.ok() ? "" : std::string(gid.text());
}

}  // namespace

Result<GidChoice> choose_gid(std::span<const GidEntry> table, int wanted) {
  if (wanted >= 0) {
    const auto found = std::ranges::find(table, uint32_t(wanted), &GidEntry::index);
    if (found != table.end()) return GidChoice{*found, "asked for"};
    return Status(Code::invalid, "its GID table has no index " + std::to_string(wanted));
  }
  if (table.empty())
    return Status(Code::unsupported, "its GID table is empty: does its interface have an address?");
  const auto rank = [](const GidEntry& e) {
    return std::tuple(e.link == Link::roce1, e.link == Link::infiniband ? 0 : family_rank(e.gid), e.index);
  };
  const GidEntry& best = *std::ranges::min_element(table, {}, rank);
  const char* families[] = {"an IPv4 address", "a global IPv6 address", "an address of its link only"};
  std::string why = best.link == Link::infiniband ? "the first of InfiniBand"
                                                  : std::string(families[family_rank(best.gid)]);
  if (best.link == Link::roce1) why += ", and there is none of RoCE v2";
  return GidChoice{best, "the best of " + std::to_string(table.size()) + ": " + why};
}

uint32_t bytes_of_mtu(ibv_mtu mtu) noexcept { return mtu < 1 || mtu > 5 ? 0 : 128U << mtu; }

double bandwidth_of(const ibv_port_attr& a) noexcept {
  const double lanes = a.active_width == 1    ? 1
                       : a.active_width == 2  ? 4
                       : a.active_width == 4  ? 8
                       : a.active_width == 8  ? 12
                       : a.active_width == 16 ? 2
                                              : 0;
  struct Speed {
    uint8_t bits;
    double Gbps;  // of a lane, without what coding takes
  };
  constexpr Speed kSpeeds[] = {{1, 2}, {2, 4}, {4, 8}, {8, 10}, {16, 13.64}, {32, 25}, {64, 50}, {128, 100}};
  for (const Speed& speed : kSpeeds) {
    if (speed.bits == a.active_speed) return lanes * speed.Gbps * 1e9 / 8;
  }
  return 0;
}

// A driver that can complains about the descriptor; one that cannot does not even look at it.
bool has_dmabuf(ibv_context& context) noexcept {
  ibv_pd* pd = ibv_alloc_pd(&context);
  if (pd == nullptr) return false;
  errno = 0;
  ibv_mr* mr = ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, IBV_ACCESS_LOCAL_WRITE);
  const bool can = mr == nullptr && errno == EBADF;
  if (mr != nullptr) ibv_dereg_mr(mr);
  ibv_dealloc_pd(pd);
  return can;
}

OpenPort look_at(ibv_context& context, uint8_t number, int gid_index) {
  OpenPort open;
  open.port.device = ibv_get_device_name(context.device);
  open.port.port = number;
  if (const int error = ibv_query_port(&context, number, &open.attributes); error != 0) {
    open.port.why_not = "ibv_query_port: " + std::string(std::strerror(error));
    return open;
  }
  const ibv_port_attr& a = open.attributes;
  open.port.link = a.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
  open.port.bandwidth_Bps = bandwidth_of(a);
  open.port.mtu = bytes_of_mtu(a.active_mtu);
  open.port.max_message = a.max_msg_sz;
  auto gid = choose_gid(table_of(context, open), gid_index);
  open.port.why_not = why_not(open, gid.status());
  if (gid.ok()) {
    open.gid = std::move(*gid);
    open.port.gid_index = int(open.gid.entry.index);
    open.port.gid = name_of(open.gid.entry);
    open.port.gid_why = open.gid.why;
  }
  ibv_device_attr_ex device{};
  if (ibv_query_device_ex(&context, nullptr, &device) == 0) {
    open.port.memory_windows = (device.orig_attr.device_cap_flags &
                                (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)) != 0;
    constexpr uint32_t kNeeded = IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;
    open.port.on_demand_paging = (device.odp_caps.per_transport_caps.rc_odp_caps & kNeeded) == kNeeded;
  }
  open.port.dmabuf = has_dmabuf(context);
  return open;
}

std::string describe(const Port& port) {
  char text[96];
  std::snprintf(text, sizeof text, "%s, MTU %u, %.1f GB/s, GID %d ", port.link.c_str(), port.mtu,
                port.bandwidth_Bps / 1e9, port.gid_index);
  return text + port.gid;
}

std::string for_each_device(const std::function<bool(ibv_device&)>& each) {
  int count = 0;
  const std::unique_ptr<ibv_device*, void (*)(ibv_device**)> list(ibv_get_device_list(&count),
                                                                  ibv_free_device_list);
  if (list == nullptr) {
    return "the kernel shows no RDMA devices (" + std::string(std::strerror(errno)) +
           "): is a driver loaded, and /dev/infiniband there?";
  }
  if (count == 0)
    return "there is no RDMA device: is its driver loaded, and /dev/infiniband there (in this container)?";
  for (int i = 0; i < count && !each(*list.get()[i]); ++i) {
  }
  return {};
}

std::vector<Port> find_ports(std::string* none) {
  std::vector<Port> ports;
  const std::string why = for_each_device([&](ibv_device& device) {
    const std::unique_ptr<ibv_context, int (*)(ibv_context*)> context(ibv_open_device(&device),
                                                                      ibv_close_device);
    ibv_device_attr attributes{};
    if (context == nullptr || ibv_query_device(context.get(), &attributes) != 0) {
      Port& port = ports.emplace_back();
      port.device = ibv_get_device_name(&device);
      port.why_not = "it cannot be opened (" + std::string(std::strerror(errno)) +
                     "): may this user use /dev/infiniband?";
      return false;
    }
    for (unsigned i = 1; i <= attributes.phys_port_cnt; ++i)
      ports.push_back(look_at(*context, uint8_t(i), -1).port);
    return false;
  });
  if (none != nullptr) *none = why;
  return ports;
}

}  // namespace plait::rdma
