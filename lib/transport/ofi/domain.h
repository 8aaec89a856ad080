// The domain: a provider's domain, and what polling and sleeping mean.
#pragma once

#include "fabric/wait_set.h"
#include "transport/am/domain.h"
#include "transport/ofi/endpoint.h"

namespace plait::transport::ofi {

class OfiDomain final : public am::MessageDomain {
 public:
  OfiDomain(const Options& options, std::shared_ptr<const fabric::Device> device);
  ~OfiDomain() override { orphan_all(); }
  Status start() { return sleep_.open(*device_); }

  bool reaches(ByteView peer_identity) const noexcept override;
  Result<std::unique_ptr<Region>> expose(const Memory& memory, Access access) override;
  size_t poll(std::span<Done> done) noexcept override;
  bool arm() noexcept override;
  int wait_fd() const noexcept override { return sleep_.fd(); }

  // What endpoints call.
  const std::shared_ptr<const fabric::Device>& device() const noexcept { return device_; }
  uint32_t protocol() const noexcept { return identity_.protocol; }
  fabric::WaitSet& sleep() noexcept { return sleep_; }
  void starved() noexcept { starved_ = true; }  // a post() found no room: no completion need tell of it

 private:
  Result<std::unique_ptr<am::MessageEndpoint>> make(const am::TicketHead& mine, uint64_t cookie) override;

  const std::shared_ptr<const fabric::Device> device_;
  fabric::WaitSet sleep_;
  uint32_t polls_ = 0;
  bool starved_ = false;
};

}  // namespace plait::transport::ofi
