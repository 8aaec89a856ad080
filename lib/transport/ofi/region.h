// Regions of domains in direct mode.
#pragma once

#include "fabric/device.h"
#include "transport/ofi/wire.h"
#include "transport/regions.h"

namespace plait::transport::ofi {

// Peers may write it by themselves, if they may write it. `plain` is what it is for messages; gets are
// messages.
class DirectRegion final : public Region {
 public:
  DirectRegion(std::shared_ptr<const fabric::Device> device, std::unique_ptr<Region> plain,
               fabric::Registration registration) noexcept
      : Region(plain->memory()),
        device_(std::move(device)),
        registration_(std::move(registration)),
        plain_(std::move(plain)),
        key_(direct_key(plain_->key(), registration_.base(), registration_.key())) {}
  ByteView key() const noexcept override { return bytes_of(key_); }
  void* descriptor() const noexcept { return registration_.descriptor(); }
  const fabric::Device* device() const noexcept { return device_.get(); }

 private:
  const std::shared_ptr<const fabric::Device> device_;
  const fabric::Registration registration_;
  const std::unique_ptr<Region> plain_;
  const Key key_;
};

class DirectPeerRegion final : public PeerRegion {
 public:
  DirectPeerRegion(const Endpoint* endpoint, const Key& key) noexcept
      : PeerRegion(endpoint, key.region), key_(key) {}
  const Key& key() const noexcept { return key_; }

 private:
  const Key key_;
};

}  // namespace plait::transport::ofi
