// The domain: a provider's domain, and what polling and sleeping mean.
#pragma once

#include "base/file.h"
#include "transport/am/domain.h"
#include "transport/ofi/endpoint.h"

namespace plait::transport::ofi {

class OfiDomain final : public am::MessageDomain {
 public:
  OfiDomain(const Options& options, std::shared_ptr<Device> device);
  ~OfiDomain() override;
  Status start();

  bool reaches(ByteView peer_identity) const noexcept override;
  Result<std::unique_ptr<Region>> expose(const Memory& memory, Access access) override;
  size_t poll(std::span<Done> done) noexcept override;
  bool arm() noexcept override;
  int wait_fd() const noexcept override { return epoll_.get(); }

  // What endpoints call.
  Device& device() noexcept { return *device_; }
  uint32_t protocol() const noexcept { return identity_.protocol; }
  void watch(OfiEndpoint& endpoint, bool on) noexcept;
  void starved() noexcept { starved_ = true; }  // a post() found no room: no completion need tell of it

 private:
  Result<std::unique_ptr<am::MessageEndpoint>> make(const am::TicketHead& mine, uint64_t cookie) override;
  void set_timer(int64_t ns) noexcept;

  const std::shared_ptr<Device> device_;
  Fd epoll_, timer_;
  std::vector<fid*> armed_queues_;
  uint32_t polls_ = 0;
  bool starved_ = false, timed_ = false;
};

}  // namespace plait::transport::ofi
