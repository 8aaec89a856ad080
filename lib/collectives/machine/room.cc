#include "collectives/machine/room.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace plait::collectives {

namespace {

bool sound(std::initializer_list<double> times) {
  return std::all_of(times.begin(), times.end(), [](double t) { return std::isfinite(t) && t >= 0; });
}

Status check_link(const Link& link, const char* name) {
  auto wrong = [&](const char* what) {
    return Status(Code::invalid, fmt::format("room: links {}: {}", name, what));
  };
  if (link.deliveries.empty()) return wrong("no delivery");
  if (link.deliveries.back().most != UINT64_MAX) return wrong("the last delivery does not take all sizes");
  if (!sound({link.host_byte})) return wrong("host_byte is no time");
  for (const Delivery& d : link.deliveries) {
    if (!sound({d.latency, d.send, d.recv, d.send_byte, d.recv_byte, d.gap, d.byte}))
      return wrong("a delivery takes no time that there is");
    if (d.piece == 0) return wrong("pieces of no bytes");
  }
  return {};
}

// "4 hosts of 8 ranks": groups that all ranks are in.
std::string describe(const std::vector<int32_t>& group_of, int32_t ranks, const char* name) {
  const int32_t groups = group_of.empty() ? 1 : 1 + *std::max_element(group_of.begin(), group_of.end());
  std::vector<int32_t> sizes(size_t(groups), 0);
  for (int32_t r = 0; r < ranks; r++) sizes[group_of.empty() ? 0 : size_t(group_of[size_t(r)])]++;
  auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  const std::string each =
      *least == *most ? fmt::format("{}", *most) : fmt::format("{} to {}", *least, *most);
  return fmt::format("{} {}{} of {} rank{}", groups, name, groups == 1 ? "" : "s", each,
                     *most == 1 ? "" : "s");
}

}  // namespace

const Delivery& Link::delivery(uint64_t bytes, bool buffered) const noexcept {
  auto takes = [&](const Delivery& d) { return bytes <= d.most && !(d.acknowledged && buffered); };
  auto found = std::find_if(deliveries.begin(), deliveries.end(), takes);
  return found == deliveries.end() ? deliveries.back() : *found;
}

Room textbook_room(int32_t ranks, double alpha, double beta, double gamma) {
  Room room;
  room.ranks = ranks;
  room.inside.deliveries = room.between.deliveries = {{.gap = alpha, .byte = beta}};
  room.fold = gamma;
  return room;
}

Status check_room(const Room& room) {
  auto wrong = [](const char* what) { return Status(Code::invalid, fmt::format("room: {}", what)); };
  if (room.ranks < 1) return wrong("no ranks");
  if (!room.host_of.empty() && room.host_of.size() != size_t(room.ranks))
    return wrong("host_of does not name a host for each rank");
  for (int32_t host : room.host_of)
    if (host < 0 || host >= room.ranks) return wrong("hosts are not numbered from 0 on");
  if (!room.pod_of.empty() && room.pod_of.size() != size_t(room.ranks))
    return wrong("pod_of does not name a pod for each rank");
  for (int32_t pod : room.pod_of)
    if (pod < 0 || pod >= room.ranks) return wrong("pods are not numbered from 0 on");
  if (!room.pod_of.empty()) PLAIT_TRY(check_link(room.chips, "of chips"));
  PLAIT_TRY(check_link(room.inside, "inside a host"));
  PLAIT_TRY(check_link(room.between, "between hosts"));
  if (!sound({room.fold, room.copy, room.store, room.task_switch, room.cold})) return wrong("a time is none");
  if (room.cores < 0 || room.windows < 1) return wrong("cores or windows are too few");
  return {};
}

std::string describe(const Room& room) {
  const std::string hosts = describe(room.host_of, room.ranks, "host");
  return room.pod_of.empty() ? hosts : hosts + ", " + describe(room.pod_of, room.ranks, "pod");
}

}  // namespace plait::collectives
