#include "rdma/open_port.h"

namespace plait::rdma {

Result<UsablePort> open_port(const PortWish& wish) {
  UsablePort found;
  std::string reasons;
  const auto note = [&](const std::string& what, std::string_view why) {
    reasons += (reasons.empty() ? "" : "; ") + what + ": " + std::string(why);
  };
  const std::string none = for_each_device([&](ibv_device& candidate) {
    const std::string name = ibv_get_device_name(&candidate);
    if (!wish.device.empty() && wish.device != name) return false;
    auto device = Device::open(candidate);
    if (!device.ok()) return note(name, device.status().text()), false;
    for (unsigned i = 1; i <= (*device)->attributes().orig_attr.phys_port_cnt; ++i) {
      if (wish.port != 0 && wish.port != i) continue;
      OpenPort port = look_at((*device)->context(), uint8_t(i), wish.gid_index);
      std::string why = port.port.why_not;
      if (why.empty() && wish.on_demand_paging && !port.port.on_demand_paging)
        why = "it has no on-demand paging for what plait does, which the options ask for";
      if (why.empty()) {
        found = {std::move(*device), std::move(port)};
        return true;
      }
      note(name + " port " + std::to_string(i), why);
    }
    return false;
  });
  if (found.device != nullptr) return found;
  if (!none.empty()) return Status(Code::unsupported, none);
  if (!reasons.empty()) return Status(Code::unsupported, "no port can be used. " + reasons);
  return Status(Code::invalid,
                "there is no device \"" + wish.device + "\" with a port " + std::to_string(wish.port));
}

}  // namespace plait::rdma
