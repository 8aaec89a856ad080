#include "transport/verbs/region.h"

#include "transport/keys.h"

namespace plait::transport::verbs {

namespace {

int flags_of(Access access, const VerbsRegion::Wish& wish) noexcept {
  int flags = IBV_ACCESS_LOCAL_WRITE;
  if (may_read(access)) flags |= IBV_ACCESS_REMOTE_READ;
  if (may_write(access)) flags |= IBV_ACCESS_REMOTE_WRITE;
  // Puts to one place must land in their order, so not where peers write. A completion overtakes nothing.
  if (wish.relaxed_ordering && !may_write(access)) flags |= IBV_ACCESS_RELAXED_ORDERING;
  if (wish.on_demand_paging) flags |= IBV_ACCESS_ON_DEMAND;
  return flags;
}

}  // namespace

Result<std::unique_ptr<Region>> VerbsRegion::make(std::shared_ptr<rdma::Device> device, const Memory& memory,
                                                  Access access, const Wish& wish) {
  const int dmabuf = memory.kind == MemoryKind::device ? memory.dmabuf : -1;
  auto held = device->registrations().hold({memory.base, memory.bytes, dmabuf, memory.dmabuf_offset},
                                           flags_of(access, wish));
  if (!held.ok()) return held.status();
  Key key;
  key.access = uint8_t(access);
  key.owner = wish.owner;
  key.nonce = random_word();
  key.address = reinterpret_cast<uint64_t>(memory.base);
  key.bytes = memory.bytes;
  key.remote_key = access == Access::none ? 0 : (*held)->rkey;
  key.sum = sum_of(key);
  return std::unique_ptr<Region>(
      std::make_unique<VerbsRegion>(std::move(device), std::move(*held), memory, key));
}

}  // namespace plait::transport::verbs
