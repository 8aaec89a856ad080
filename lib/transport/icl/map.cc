// What lib/topology reads of a pod, as ranks tell it each other.
#include <algorithm>
#include <limits>

#include "topology/icl.h"
#include "transport/icl/domain.h"

namespace plait::transport::icl {
namespace {

// 0: not known.
uint32_t mbps_of(double bytes_per_s) noexcept {
  return uint32_t(std::clamp(bytes_per_s / 125e3, 0.0, double(std::numeric_limits<uint32_t>::max())));
}

}  // namespace

Result<ChipMap> map_of(const Domain& domain) {
  const Device& device = static_cast<const IclDomain&>(domain).device();
  const auto graph = topology::read_icl(device.handle());
  if (!graph.ok()) return graph.status();
  ChipMap map{.chip = device.chip(), .links = {}};
  for (const topology::Link& link : graph->links()) {
    const topology::Node &a = graph->node(link.a), &b = graph->node(link.b);
    if (a.kind != topology::Kind::chip || b.kind != topology::Kind::chip || a.dead || b.dead) continue;
    map.links.push_back({a.index, b.index, link.count,
                         mbps_of(std::min(link.forward_bytes_per_s, link.backward_bytes_per_s))});
  }
  return map;
}

}  // namespace plait::transport::icl
