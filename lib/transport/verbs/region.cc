#include "transport/verbs/region.h"

namespace plait::transport::verbs {

Result<std::unique_ptr<Region>> VerbsRegion::make(std::shared_ptr<rdma::Device> device, const Memory& memory,
                                                  Access access, const Wish& wish) {
  const int dmabuf = memory.kind == MemoryKind::device ? memory.dmabuf : -1;
  unsigned rights = 0;
  if (may_read(access)) rights |= IBV_ACCESS_REMOTE_READ;
  if (may_write(access)) rights |= IBV_ACCESS_REMOTE_WRITE;
  auto held = rdma::hold(*device, {memory.base, memory.bytes, dmabuf, memory.dmabuf_offset},
                         {rights, wish.relaxed_ordering, wish.on_demand_paging});
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
