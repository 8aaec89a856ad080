// One rail to one peer: a channel of RDMA. endpoint.cc: its life; post.cc: taking transfers.
#pragma once

#include <memory>
#include <string>

#include "rdma/hub.h"
#include "transport/transfers.h"
#include "transport/verbs/region.h"

namespace plait::transport::verbs {

class VerbsDomain;

class VerbsEndpoint final : public Endpoint, private rdma::Channel {
 public:
  VerbsEndpoint(VerbsDomain& domain, uint16_t counters, uint64_t cookie);
  ~VerbsEndpoint() override;
  Status start();

  ByteView ticket() const noexcept override { return bytes_of(mine_); }
  Status connect(ByteView peer_ticket) noexcept override;
  State state() const noexcept override { return State(phase()); }
  std::string_view error() const noexcept override { return Channel::error(); }
  Result<std::unique_ptr<RemoteRegion>> import(ByteView key) override;
  size_t post(std::span<const Transfer> transfers) noexcept override;
  void close() noexcept override { Channel::close(); }

  // What the domain calls.
  using Channel::force_error;
  size_t harvest(std::span<Done> done) noexcept { return dones_.take(done); }
  bool has_dones() const noexcept { return !dones_.empty(); }
  void leave_dones(OrphanedDones& to) noexcept { to.adopt(dones_); }
  bool listed = false;  // among the domain's that have Dones

 private:
  void done(const rdma::Request& request, Code code) noexcept override;
  bool signalled(uint32_t counter, uint16_t add) noexcept override;
  void failed(Code code) noexcept override;
  void tell(uint64_t cookie, Code code) noexcept;
  const char* refusal(const Transfer& transfer) const noexcept;
  rdma::Piece piece_of(const Transfer& transfer) const noexcept;

  VerbsDomain& domain_;
  const uint64_t cookie_;
  Ticket mine_, theirs_;
  std::unique_ptr<std::atomic<uint64_t>[]> counter_words_;
  OwnedDones dones_;
  size_t moving_ = 0;  // transfers under way
};

}  // namespace plait::transport::verbs
