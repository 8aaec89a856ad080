#include "transport/ucx/endpoint.h"

#include "transport/ucx/domain.h"

namespace plait::transport::ucx {

UcxEndpoint::UcxEndpoint(UcxDomain& domain, const am::TicketHead& mine, uint64_t cookie)
    : MessageEndpoint(domain, mine, cookie,
                      {.piece = domain.library().piece(), .out_of_turn = "UCX_MAX_EAGER_RAILS must be 1"}) {
  announce(domain.library().address());
}

UcxDomain& UcxEndpoint::ours() const noexcept { return *static_cast<UcxDomain*>(domain()); }

std::string UcxEndpoint::over_ucx(ucs_status_t status) const {
  return peer_name() + " over UCX (" + ours().library().transports() + "): " + ucs_status_string(status);
}

Status UcxEndpoint::reach(const am::Ticket& peer) {
  const ucs_status_t status = ours().meet(peer, peer_);
  if (status == UCS_OK) return {};
  fail(Code::unsupported, "connecting to " + over_ucx(status) +
                              "; both must have a transport and a network in common: compare UCX_TLS and "
                              "UCX_NET_DEVICES of both");
  return Status(Code::unsupported, std::string(error()));
}

void UcxEndpoint::lost(ucs_status_t status) noexcept {
  if (state() == State::connecting)
    return fail(Code::peer, "connecting to " + over_ucx(status) +
                                "; it exited, or listens where this host cannot reach it: look at "
                                "UCX_NET_DEVICES and firewalls of both");
  fail(Code::peer, over_ucx(status) + "; it exited or was killed, its host is down, or the link is cut");
}

am::Sent UcxEndpoint::send(const am::Message& message) noexcept {
  if (peer_->end == nullptr) return am::Sent::done;  // it is lost, and nobody to tell
  if (flying_ >= kFlights || flying_bytes_ >= kFlyingBytes) return am::Sent::no_room;
  Flight& flight = ours().take_flight();
  flight.owner = this;
  flight.message = message;
  flight.next = std::exchange(flights_, &flight);
  ++flying_;
  flying_bytes_ += message.bytes;
  const ucs_status_t status = flight.send(peer_->end);
  if (status == UCS_INPROGRESS) return am::Sent::kept;
  unlist(flight);
  ours().give_flight(flight, *peer_, status);
  return status == UCS_OK ? am::Sent::done : am::Sent::kept;  // an error will fail this endpoint
}

void UcxEndpoint::unlist(Flight& flight) noexcept {
  Flight** at = &flights_;
  while (*at != &flight) at = &(*at)->next;
  *at = flight.next;
  --flying_;
  flying_bytes_ -= flight.message.bytes;
}

void UcxEndpoint::landed(Flight& flight) noexcept {
  unlist(flight);
  if (flight.message.op != nullptr) released(*flight.message.op);
  has_room();
}

void UcxEndpoint::let_go() noexcept {
  for (Flight* flight = flights_; flight != nullptr; flight = flight->next) {
    flight->revoke();
    if (state() == State::closed) flight->owner = nullptr;
  }
  if (state() != State::closed) return;
  ours().left_behind(kFlights, flying_);
  flights_ = nullptr;
}

}  // namespace plait::transport::ucx
