// One rail to one peer: its messages are UCX's active ones.
#pragma once

#include "transport/am/endpoint.h"
#include "transport/ucx/flight.h"

namespace plait::transport::ucx {

class UcxEndpoint final : public am::MessageEndpoint {
 public:
  // Messages that UCX has, and about how much is in them: what is urgent waits for no more.
  static constexpr size_t kFlights = 8, kFlyingBytes = size_t{1} << 20;

  UcxEndpoint(UcxDomain& domain, const am::TicketHead& mine, uint64_t cookie);
  ~UcxEndpoint() override { leave(); }

  // What the domain calls.
  Peer* peer() const noexcept { return peer_; }
  void lost(ucs_status_t status) noexcept;                    // the peer
  void landed(Flight& flight, ucs_status_t status) noexcept;  // UCX is done with it

 private:
  Status reach(const am::Ticket& peer) override;
  am::Sent send(const am::Message& message) noexcept override;
  void let_go() noexcept override;
  am::Sent outcome(ucs_status_t status) noexcept;  // what UCX says of a message
  UcxDomain& ours() const noexcept;
  std::string over_ucx(ucs_status_t status) const;
  void unlist(Flight& flight) noexcept;

  Peer* peer_ = nullptr;
  Flight* flights_ = nullptr;
  size_t flying_ = 0, flying_bytes_ = 0;
  size_t most_at_once_ = SIZE_MAX;  // what is longer needs a Flight, as far as was seen
};

}  // namespace plait::transport::ucx
