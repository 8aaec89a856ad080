// The domain: a hub of RDMA channels, which are its endpoints.
#pragma once

#include <string>
#include <vector>

#include "transport/verbs/endpoint.h"
#include "transport/verbs/verbs.h"

namespace plait::transport::verbs {

class VerbsDomain final : public Domain {
 public:
  VerbsDomain(const Options& options, rdma::UsablePort&& port);
  ~VerbsDomain() override;
  Status start();

  std::string_view name() const noexcept override { return hub_.name(); }
  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  ByteView identity() const noexcept override { return bytes_of(identity_); }
  bool reaches(ByteView peer_identity) const noexcept override;
  Result<std::unique_ptr<Region>> expose(const Memory& memory, Access access) override;
  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) override;
  size_t poll(std::span<Done> done) noexcept override;
  bool arm() noexcept override;
  int wait_fd() const noexcept override { return hub_.fd(); }
  void trim() noexcept override;

  rdma::Hub& hub() noexcept { return hub_; }
  const rdma::Hub& hub() const noexcept { return hub_; }
  // What endpoints call.
  uint64_t nonce() const noexcept { return nonce_; }
  Slab<DoneItem>& dones() noexcept { return dones_; }
  void has_dones(VerbsEndpoint& endpoint) noexcept {
    if (!std::exchange(endpoint.listed, true)) busy_.push_back(&endpoint);
  }
  void forget(VerbsEndpoint& endpoint) noexcept;

 private:
  size_t places() const noexcept { return size_t{capabilities_.depth} + 1; }  // for Dones, of an endpoint
  void free_places() noexcept;

  const Options options_;
  const uint64_t nonce_;
  Slab<DoneItem> dones_;
  std::vector<VerbsEndpoint*> busy_;  // with Dones
  OrphanedDones orphans_{dones_};
  size_t open_ = 0;  // endpoints
  rdma::Hub hub_;
  Capabilities capabilities_;
  Identity identity_;
};

}  // namespace plait::transport::verbs
