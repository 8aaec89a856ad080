#include "transport/verbs/region.h"

#include "base/log.h"
#include "transport/keys.h"

namespace plait::transport::verbs {

namespace {

int rights_of(Access access) noexcept {
  return (may_read(access) ? IBV_ACCESS_REMOTE_READ : 0) | (may_write(access) ? IBV_ACCESS_REMOTE_WRITE : 0);
}

// Where a window can be had its registration outlives the region, for the next one of the same memory.
Result<VerbsRegion::Held> hold(rdma::Device& device, const Memory& memory, Access access,
                               const VerbsRegion::Wish& wish) {
  const int dmabuf = memory.kind == MemoryKind::device ? memory.dmabuf : -1;
  const rdma::Span span{memory.base, memory.bytes, dmabuf, memory.dmabuf_offset};
  const int rights = rights_of(access);
  int flags = IBV_ACCESS_LOCAL_WRITE;
  // Puts to one place must land in their order, so not where peers write. A completion overtakes nothing.
  if (wish.relaxed_ordering && !may_write(access)) flags |= IBV_ACCESS_RELAXED_ORDERING;
  if (wish.on_demand_paging) flags |= IBV_ACCESS_ON_DEMAND;
  if (rights != 0 && dmabuf < 0 && device.windows() != nullptr) {
    auto made = device.registrations().hold(span, flags | rdma::Windows::kBindable, true);
    auto window = made.ok() ? device.windows()->bind(**made, unsigned(rights)) : made.status();
    if (window.ok()) return VerbsRegion::Held{std::move(*made), std::move(*window)};
    log::debug("{}: no memory window: {}", device.name(), window.status().text());
  }
  auto made = device.registrations().hold(span, flags | rights);
  if (!made.ok()) return made.status();
  return VerbsRegion::Held{std::move(*made), nullptr};
}

}  // namespace

Result<std::unique_ptr<Region>> VerbsRegion::make(std::shared_ptr<rdma::Device> device, const Memory& memory,
                                                  Access access, const Wish& wish) {
  auto held = hold(*device, memory, access, wish);
  if (!held.ok()) return held.status();
  Key key;
  key.access = uint8_t(access);
  key.owner = wish.owner;
  key.nonce = random_word();
  key.address = reinterpret_cast<uint64_t>(memory.base);
  key.bytes = memory.bytes;
  key.remote_key = access == Access::none ? 0 : held->remote_key();
  key.sum = sum_of(key);
  return std::unique_ptr<Region>(
      std::make_unique<VerbsRegion>(std::move(device), std::move(*held), memory, key));
}

}  // namespace plait::transport::verbs
