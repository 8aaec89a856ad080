#include "rdma/station.h"

#include <algorithm>

namespace plait::rdma {

namespace {

constexpr uint32_t k24Bits = (1U << 24) - 1;
constexpr uint8_t kSmallestMtu = 1, kLargestMtu = 5;  // 256 and 4096 bytes

}  // namespace

Status check(const ChannelOptions& o) {
  const char* why = o.depth < 1 || o.depth > 4096                 ? "depth must be 1 to 4096"
                    : o.signals < 1 || o.signals > kMaxAdd        ? "signals must be 1 to 1023"
                    : o.timeout > 31 || o.timeout == 0            ? "timeout must be 1 to 31"
                    : o.retries > 7 || o.rnr_retries > 7          ? "there are 7 retries at most"
                    : o.service_level > 15                        ? "service levels are 0 to 15"
                    : o.mtu != 0 && (o.mtu < 256 || o.mtu > 4096) ? "the MTU must be 256 to 4096"
                                                                  : nullptr;
  return why == nullptr ? Status() : Status(Code::invalid, why);
}

bool makes_sense(const Station& s) noexcept {
  return known(s.link) && s.mtu >= kSmallestMtu && s.mtu <= kLargestMtu && s.queue_pair > 1 &&
         s.queue_pair <= k24Bits && s.packet <= k24Bits && s.slot < kSlots && s.signals >= 1 &&
         s.reads >= 1 && s.zero == 0 && s.zero2 == 0 && s.gid != Gid{};
}

const char* mismatch(const Station& mine, const Station& theirs) noexcept {
  if ((mine.link == Link::infiniband) != (theirs.link == Link::infiniband)) return "of another kind of link";
  if ((mine.cm_port == 0) != (theirs.cm_port == 0)) return "of another way to connect";
  return nullptr;
}

Path path_between(const Station& mine, const Station& theirs, const ChannelOptions& options, uint8_t port,
                  uint8_t gid_index, bool greeted) noexcept {
  Path path;
  path.port = port;
  path.gid_index = gid_index;
  path.gid = theirs.gid;
  path.lid = theirs.lid;
  path.global = mine.link != Link::infiniband || theirs.lid == 0;
  path.mtu = ibv_mtu(std::min(mine.mtu, theirs.mtu));
  path.queue_pair = theirs.queue_pair;
  path.first_in = theirs.packet + (greeted ? 1 : 0);
  path.first_out = mine.packet;
  path.reads_in = mine.reads;
  path.reads_out = std::min(mine.reads, theirs.reads);
  path.traffic_class = options.traffic_class;
  path.service_level = options.service_level;
  path.timeout = options.timeout;
  path.retries = options.retries;
  path.rnr_retries = options.rnr_retries;
  return path;
}

}  // namespace plait::rdma
