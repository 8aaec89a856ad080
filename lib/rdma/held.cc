#include "rdma/held.h"

#include "base/log.h"

namespace plait::rdma {

// Where a window can be had its registration outlives what is held, for the next one of the same memory.
Result<Held> hold(Device& device, const Span& span, const HoldWish& wish) {
  const auto rights = int(wish.rights);
  int flags = IBV_ACCESS_LOCAL_WRITE;
  // Writes to one place must land in their order, so not where peers write. A completion overtakes nothing.
  if (wish.relaxed_ordering && (rights & IBV_ACCESS_REMOTE_WRITE) == 0) flags |= IBV_ACCESS_RELAXED_ORDERING;
  if (wish.on_demand_paging) flags |= IBV_ACCESS_ON_DEMAND;
  if (rights != 0 && span.dmabuf < 0 && device.windows() != nullptr) {
    auto made = device.registrations().hold(span, flags | Windows::kBindable, true);
    auto window = made.ok() ? device.windows()->bind(**made, wish.rights) : made.status();
    if (window.ok()) return Held{std::move(*made), std::move(*window)};
    log::debug("{}: no memory window: {}", device.name(), window.status().text());
  }
  auto made = device.registrations().hold(span, flags | rights);
  if (!made.ok()) return made.status();
  return Held{std::move(*made), nullptr};
}

}  // namespace plait::rdma
