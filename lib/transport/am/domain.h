// What domains have in common whose endpoints are MessageEndpoints.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/am/endpoint.h"
#include "transport/am/lookout.h"

namespace plait::transport::am {

// Of a domain: what all its endpoints hold together.
struct Pools {
  Slab<Op> ops;
  Slab<DoneItem> dones;
  Slab<Served> served;
};

class MessageDomain : public Domain {
 public:
  std::string_view name() const noexcept final { return label_; }
  const Capabilities& capabilities() const noexcept final { return capabilities_; }
  ByteView identity() const noexcept final { return bytes_of(identity_); }
  Result<std::unique_ptr<Region>> expose(const Memory& memory, Access access) override {
    return LocalRegion::make(maker_, regions_, nonce_, memory, access);
  }
  Result<std::unique_ptr<Endpoint>> open(uint16_t counters, uint64_t cookie) final;
  void trim() noexcept override;

  // What endpoints call.
  bool is_this_process() const noexcept;
  const Maker& maker() const noexcept { return maker_; }
  Pools& pools() noexcept { return pools_; }
  RegionTable& regions() noexcept { return *regions_; }
  Lookout& lookout() noexcept { return lookout_; }
  void has_work(MessageEndpoint& endpoint) noexcept {
    if (std::exchange(endpoint.listed, true)) return;
    busy_.push_back(&endpoint);
  }
  void forget(MessageEndpoint& endpoint) noexcept;

 protected:
  // The derived one completes capabilities_ and identity_, and its destructor orphans all endpoints.
  MessageDomain(const Maker& maker, std::string label);
  virtual Result<std::unique_ptr<MessageEndpoint>> make(const TicketHead& mine, uint64_t cookie) = 0;

  // Null: there is none of that nonce (any more).
  MessageEndpoint* find(uint64_t nonce) const noexcept;
  const std::vector<MessageEndpoint*>& endpoints() const noexcept { return endpoints_; }  // some are null
  void orphan_all() noexcept;
  // Whether nothing is to be sent that could be, and no Done is to be taken.
  bool idle() const noexcept { return busy_.empty() && orphans_.empty(); }
  // Sends what can be, and takes Dones. Most polls find nothing to do.
  size_t work(std::span<Done> done, size_t budget) noexcept { return idle() ? 0 : work_on(done, budget); }

  const std::shared_ptr<RegionTable> regions_ = std::make_shared<RegionTable>();
  const uint64_t nonce_;
  Capabilities capabilities_;
  Identity identity_;

 private:
  // An endpoint's place is in its nonce.
  static constexpr size_t kEndpoints = size_t{1} << 16;

  size_t work_on(std::span<Done> done, size_t budget) noexcept;
  void free_places() noexcept;  // of endpoints that are gone, once nothing is left of them

  const Maker maker_;
  const std::string label_;
  const int pid_;
  Pools pools_;
  std::vector<MessageEndpoint*> endpoints_;  // by place
  std::vector<MessageEndpoint*> busy_;       // with something to send, or Dones
  OrphanedDones orphans_{pools_.dones};
  Lookout lookout_;
};

}  // namespace plait::transport::am
