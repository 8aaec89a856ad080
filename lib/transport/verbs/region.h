// Own memory and peers' memory: a region's key is its address and the device's remote key of its
// registration.
#pragma once

#include "rdma/held.h"
#include "transport/verbs/wire.h"

namespace plait::transport::verbs {

class VerbsRegion final : public Region {
 public:
  struct Wish {
    uint64_t owner = 0;  // nonce of the domain
    bool relaxed_ordering = false, on_demand_paging = false;
  };
  static Result<std::unique_ptr<Region>> make(std::shared_ptr<rdma::Device> device, const Memory& memory,
                                              Access access, const Wish& wish);
  VerbsRegion(std::shared_ptr<rdma::Device> device, rdma::Held held, const Memory& memory,
              const Key& key) noexcept
      : Region(memory), device_(std::move(device)), held_(std::move(held)), key_(key) {}
  ByteView key() const noexcept override { return bytes_of(key_); }
  uint32_t local_key() const noexcept { return held_.local_key(); }
  const rdma::Device* device() const noexcept { return device_.get(); }

 private:
  const std::shared_ptr<rdma::Device> device_;
  const rdma::Held held_;
  const Key key_;
};

class PeerRegion final : public RemoteRegion {
 public:
  PeerRegion(const Endpoint* endpoint, const Key& key) noexcept
      : RemoteRegion(key.bytes, Access(key.access)), endpoint_(endpoint), key_(key) {}
  std::byte* mapped() const noexcept override { return nullptr; }
  const Endpoint* endpoint() const noexcept { return endpoint_; }
  const Key& key() const noexcept { return key_; }

 private:
  const Endpoint* endpoint_;
  const Key key_;
};

}  // namespace plait::transport::verbs
