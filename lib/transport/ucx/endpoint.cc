#include "transport/ucx/endpoint.h"

#include "transport/ucx/domain.h"

namespace plait::transport::ucx {
namespace {

// Sends the message without a Flight: the transport takes it from where it lies, before this returns.
// UCS_ERR_NO_RESOURCE: it has no room, or sends nothing so long in this way; nothing was read.
ucs_status_t send_now(ucp_ep_h end, const am::Message& message) noexcept {
  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  void* status = ucp_am_send_nbx(end, kMessages, &message.header, sizeof message.header, message.from,
                                 message.bytes, &param);
  return UCS_PTR_STATUS(status);
}

}  // namespace

UcxEndpoint::UcxEndpoint(UcxDomain& domain, const am::TicketHead& mine, uint64_t cookie)
    : MessageEndpoint(domain, mine, cookie,
                      {.piece = domain.library().piece(),
                       .before = domain.library().transports() == "tcp" ? size_t{5 + 8} : 0,  // UCT's, UCP's
                       .under_way = size_t{2} << 20,
                       .out_of_turn = "UCX_MAX_EAGER_RAILS must be 1"}) {
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
  // Unless it would overtake those that wait, or is in two pieces (data).
  const bool whole = message.from != nullptr || message.bytes == 0;
  const bool at_once = whole && flying_ == 0 && message.bytes <= most_at_once_;
  if (at_once) {
    const ucs_status_t status = send_now(peer_->end, message);
    if (status != UCS_ERR_NO_RESOURCE) return outcome(status);
  }
  if (flying_ >= kFlights || flying_bytes_ >= kFlyingBytes) return am::Sent::no_room;
  Flight& flight = ours().flights().take();
  flight.domain = &ours();
  flight.owner = this;
  flight.message = message;
  flight.next = std::exchange(flights_, &flight);
  ++flying_;
  flying_bytes_ += message.bytes;
  const ucs_status_t status = flight.send(peer_->end);
  if (status == UCS_INPROGRESS) return am::Sent::kept;
  if (at_once && message.bytes > kInline) most_at_once_ = message.bytes - 1;  // there was room for it
  unlist(flight);
  ours().flights().give(flight);
  return outcome(status);
}

am::Sent UcxEndpoint::outcome(ucs_status_t status) noexcept {
  if (status == UCS_OK) return am::Sent::done;
  UcxDomain::on_error(peer_, peer_->end, status);  // and a poll will fail this endpoint
  return am::Sent::kept;
}

void UcxEndpoint::unlist(Flight& flight) noexcept {
  Flight** at = &flights_;
  while (*at != &flight) at = &(*at)->next;
  *at = flight.next;
  --flying_;
  flying_bytes_ -= flight.message.bytes;
}

void UcxEndpoint::landed(Flight& flight, ucs_status_t status) noexcept {
  unlist(flight);
  if (outcome(status) == am::Sent::done && flight.message.op != nullptr) released(*flight.message.op);
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
