// One rail to one peer: a queue. endpoint.cc: its life; post.cc: taking transfers.
#pragma once

#include "transport/icl/region.h"

namespace plait::transport::icl {

class IclDomain;

class IclEndpoint final : public Endpoint {
 public:
  // `place`: of the domain's endpoints; comes back with the queue's failure.
  IclEndpoint(IclDomain& domain, uint16_t counters, uint64_t cookie, uint64_t place)
      : domain_(&domain), cookie_(cookie), place_(place) {
    mine_.counters = counters;
  }
  ~IclEndpoint() override;
  Status start();

  ByteView ticket() const noexcept override { return bytes_of(mine_); }
  Status connect(ByteView peer_ticket) noexcept override;
  State state() const noexcept override { return state_; }
  std::string_view error() const noexcept override { return why_; }
  Result<std::unique_ptr<RemoteRegion>> import(ByteView key) override;
  size_t post(std::span<const Transfer> transfers) noexcept override;
  void close() noexcept override;

  // What the domain calls.
  uint64_t place() const noexcept { return place_; }
  // Its queue failed: its own Done.
  Done failed(icl_status status) noexcept;
  void orphan() noexcept;

 private:
  Status start_counters();
  void refuse(const std::string& why) noexcept;
  const char* refusal(const Transfer& transfer) const noexcept;
  icl_descriptor descriptor_of(const Transfer& transfer) const noexcept;
  std::string ours() const;
  std::string peer_name() const;

  IclDomain* domain_;  // null: it went first
  const uint64_t cookie_, place_;
  Ticket mine_, theirs_;
  std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
  icl_exported* exported_ = nullptr;  // the counters
  icl_remote* peer_words_ = nullptr;  // the peer's
  size_t first_word_ = 0;
  State state_ = State::opened;
  bool broke_ = false;  // the contract, not the queue
  std::string why_;
};

}  // namespace plait::transport::icl
