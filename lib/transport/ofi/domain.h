// The domain: a provider's domain, its endpoints, and what polling and sleeping mean.
#pragma once

#include <vector>

#include "transport/ofi/endpoint.h"

namespace plait::transport::ofi {

class OfiDomain final : public Domain {
 public:
  OfiDomain(const Options& options, std::shared_ptr<Device> device);
  ~OfiDomain() override;
  Status start();

  std::string_view name() const noexcept override { return label_; }
  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  ByteView identity() const noexcept override { return bytes_of(identity_); }
  bool reaches(ByteView peer_identity) const noexcept override;
  Result<std::unique_ptr<Region>> expose(const Memory& memory, Access access) override {
    return OfiRegion::make(device_, memory, access);
  }
  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) override;
  size_t poll(std::span<Done> done) noexcept override;
  bool arm() noexcept override;
  int wait_fd() const noexcept override { return epoll_.get(); }
  void trim() noexcept override { dones_.trim(); }

  // What endpoints call.
  bool is_this_process() const noexcept;
  Device& device() noexcept { return *device_; }
  Slab<DoneItem>& dones() noexcept { return dones_; }
  const Identity& self() const noexcept { return identity_; }
  void watch(OfiEndpoint& endpoint, bool on) noexcept;
  void starved() noexcept { starved_ = true; }  // a post() found no room: no completion need tell of it
  void forget(OfiEndpoint& endpoint) noexcept;

 private:
  void set_timer(int64_t ns) noexcept;

  const std::string label_;
  const std::shared_ptr<Device> device_;
  const Capabilities capabilities_;
  const int pid_;
  Identity identity_;
  Fd epoll_, timer_;
  Slab<DoneItem> dones_;
  SlabQueue<DoneItem> orphans_{dones_};  // of endpoints that are gone ...
  uint32_t gone_ = 0;                    // ... so many, whose places they still hold
  std::vector<OfiEndpoint*> endpoints_;
  std::vector<fid*> armed_queues_;
  uint32_t polls_ = 0;
  bool starved_ = false, timed_ = false;
};

}  // namespace plait::transport::ofi
