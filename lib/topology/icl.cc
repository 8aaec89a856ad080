#include "topology/icl.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "drivers/icl/icl.h"

namespace plait::topology {
namespace {

Status refused(std::string_view what) {
  return {Code::system, fmt::format("{}: {}", what, icl_last_error())};
}

class Pod {
 public:
  explicit Pod(icl_device* device) : device_(device) {}

  Result<Graph> run() {
    icl_device_info info{};
    info.struct_size = sizeof info;
    if (icl_query_device(device_, &info) != ICL_OK) return refused("the pod");
    if (info.chips > ICL_MAX_CHIPS || info.ports > ICL_MAX_PORTS)
      return Status(Code::internal, fmt::format("a pod of {} chips with {} ports; {} and {} are the most",
                                                info.chips, info.ports, ICL_MAX_CHIPS, ICL_MAX_PORTS));
    graph_.add(Kind::room, kNone, "room");
    const NodeId pod = graph_.add(Kind::pod, 0, fmt::format("pod by {}", info.driver));
    for (uint32_t c = 0; c < info.chips; c++) PLAIT_TRY(add_chip(c, pod));
    for (uint32_t c = 0; c < info.chips; c++) {
      for (uint32_t p = 0; p < info.ports; p++) PLAIT_TRY(add_port(c, p, info.ports));
    }
    join();
    return graph_.build();
  }

 private:
  // One direction, of all links from a chip to another.
  struct Way {
    uint32_t count = 0;
    double bytes_per_s = 0;
    bool known = true;  // the rate of each
  };

  Status add_chip(uint32_t number, NodeId pod) {
    icl_chip_info info{};
    info.struct_size = sizeof info;
    if (icl_query_chip(device_, number, &info) != ICL_OK) return refused(fmt::format("chip {}", number));
    const NodeId chip = graph_.add(Kind::chip, pod, fmt::format("chip {}", number));
    graph_.at(chip).system = int32_t(number);
    graph_.at(chip).dead = info.state == ICL_CHIP_DEAD;
    graph_.at(chip).taken = info.state == ICL_CHIP_RUNNING;
    chips_.push_back(chip);
    runs_.push_back(info.state == ICL_CHIP_RUNNING);
    return {};
  }

  Status query(uint32_t chip, uint32_t port, icl_port_info& info) {
    info = {};
    info.struct_size = sizeof info;
    if (icl_query_port(device_, chip, port, &info) == ICL_OK) return {};
    return refused(fmt::format("chip {} port {}", chip, port));
  }

  Status add_port(uint32_t chip, uint32_t port, uint32_t ports) {
    icl_port_info info, far{};
    PLAIT_TRY(query(chip, port, info));
    if (info.state == ICL_PORT_NONE) return {};
    const bool heard = info.far_chip != ICL_ANY && info.state == ICL_PORT_UP;
    const uint32_t to = heard ? info.far_chip : info.planned_chip,
                   to_port = heard ? info.far_port : info.planned_port;
    if (to >= chips_.size() || to_port >= ports || to == chip) return {};
    PLAIT_TRY(query(to, to_port, far));
    const bool down = info.state == ICL_PORT_DOWN || far.state == ICL_PORT_DOWN;
    if (down && runs_[chip] && runs_[to]) return {};
    Way& way = ways_[{chip, to}];
    way.count++;
    way.bytes_per_s += double(info.mbps) * 1e6 / 8;
    way.known = way.known && info.mbps > 0;
    return {};
  }

  void join() {
    for (const auto& [ends, way] : ways_) {
      const auto [a, b] = ends;
      const auto back = ways_.find({b, a});
      // Both ends say so, or it is no link.
      if (a > b || back == ways_.end()) continue;
      Link link{chips_[a], chips_[b], LinkKind::chip, std::min(way.count, back->second.count), 0, 0, 0};
      if (way.known) link.forward_bytes_per_s = way.bytes_per_s;
      if (back->second.known) link.backward_bytes_per_s = back->second.bytes_per_s;
      graph_.link(link);
    }
  }

  icl_device* device_;
  GraphBuilder graph_;
  std::vector<NodeId> chips_;
  std::vector<bool> runs_;
  std::map<std::pair<uint32_t, uint32_t>, Way> ways_;
};

}  // namespace

Result<Graph> read_icl(icl_device* device) { return Pod(device).run(); }

Result<Graph> read_icl(const std::string& address) {
  icl_device* device = nullptr;
  if (icl_open(address.c_str(), nullptr, &device) != ICL_OK) return refused(address);
  Result<Graph> graph = read_icl(device);
  if (icl_close(device) != ICL_OK && graph.ok()) return refused(address);
  return graph;
}

}  // namespace plait::topology
