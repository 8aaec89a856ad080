#include "transport/ucx/endpoint.h"

#include "base/log.h"
#include "transport/ucx/domain.h"

namespace plait::transport::ucx {

UcxEndpoint::UcxEndpoint(UcxDomain& domain, const Ticket& mine, uint64_t cookie)
    : domain_(&domain),
      nonce_(mine.head.endpoint),
      cookie_(cookie),
      counter_count_(mine.head.counters),
      ticket_(to_bytes(mine)),
      counter_words_(std::make_unique<std::atomic<uint64_t>[]>(mine.head.counters)),
      ops_(domain.pools().ops),
      served_(domain.pools().served),
      dones_(domain.pools().dones) {
  counters_ = counter_words_.get();
}

UcxEndpoint::~UcxEndpoint() {
  close();
  if (domain_ != nullptr) domain_->forget(*this);
}

std::string UcxEndpoint::peer_name() const {
  return "peer process " + std::to_string(theirs_.pid) + " on host " + theirs_.host.data();
}

Status UcxEndpoint::connect(ByteView view) noexcept {
  if (state_ != State::opened)
    return Status(Code::state, "ucx: connect() of an endpoint that was connected before, or closed");
  auto ticket = parse_ticket(view);
  if (!ticket.ok()) return ticket.status();
  if (ticket->head.endpoint == nonce_)
    return Status(Code::invalid, "ucx: an endpoint's own ticket; to connect to oneself takes two endpoints");
  theirs_ = ticket->head;
  const ucs_status_t status = domain_->meet(*ticket, peer_);
  if (status != UCS_OK) {
    fail(Code::unsupported, "connecting to " + peer_name() + " over UCX (" + domain_->library().transports() +
                                "): " + ucs_status_string(status) +
                                "; both must have a transport and a network in common: compare UCX_TLS and "
                                "UCX_NET_DEVICES of both");
    return Status(Code::unsupported, error_);
  }
  state_ = State::connecting;
  tell(Kind::hello, nonce_, kLast);
  return {};
}

Result<std::unique_ptr<RemoteRegion>> UcxEndpoint::import(ByteView key) {
  if (state_ == State::opened || state_ == State::closed)
    return Status(Code::state, "ucx: a key can be imported after connect(), and not after close()");
  return PeerRegion::make(kMaker, this, theirs_.domain, key);
}

void UcxEndpoint::lost(ucs_status_t status) noexcept {
  const std::string said =
      " over UCX (" + domain_->library().transports() + "): " + ucs_status_string(status);
  if (state_ == State::connecting)
    return fail(Code::peer,
                "connecting to " + peer_name() + said +
                    "; it exited, or listens where this host cannot reach it: look at UCX_NET_DEVICES "
                    "and firewalls of both");
  fail(Code::peer, peer_name() + said + "; it exited or was killed, its host is down, or the link is cut");
}

void UcxEndpoint::refuse(Refusal refusal) noexcept {
  tell(Kind::error, uint64_t(refusal));
  fail(Code::auth, peer_name() + " sent " + describe(refusal) +
                       (refusal == Refusal::order ? ": UCX_MAX_EAGER_RAILS must be 1" : ""));
}

void UcxEndpoint::fail(Code code, std::string text) noexcept {
  if (state_ == State::failed || state_ == State::closed) return;
  log::info("{}: endpoint failed: {}", domain_->name(), text);
  error_ = std::move(text);
  state_ = State::failed;
  drop(code);
  if (!own_done_) add_done(cookie_, code);
  own_done_ = true;
  domain_->has_work(*this);
}

void UcxEndpoint::drop(Code code) noexcept {
  for (; flights_ != nullptr; flights_ = flights_->next) flights_->revoke();
  domain_->left_behind(flying_);
  flying_ = flying_bytes_ = 0;
  for (OpQueue* queue : {&waiting_[0], &waiting_[1], &unacked_, &gets_}) queue->clear();
  served_.clear();
  while (Op* op = ops_.newest()) finished(*op, code);
}

void UcxEndpoint::close() noexcept {
  if (state_ == State::closed || domain_ == nullptr || !domain_->is_this_process()) return;
  if (state_ == State::ready || state_ == State::connecting) tell(Kind::goodbye, 0);
  state_ = State::closed;
  drop(Code::aborted);
}

void UcxEndpoint::move(size_t& budget) noexcept {
  while (budget != 0 && can_send()) send_next(budget);
}

size_t UcxEndpoint::harvest(std::span<Done> done) noexcept {
  size_t count = 0;
  for (; count < done.size() && !dones_.empty(); dones_.pop()) done[count++] = dones_.front().done;
  return count;
}

// The own one is the last.
void UcxEndpoint::leave_dones(SlabQueue<DoneItem>& to) noexcept {
  while (dones_.size() > (own_done_ ? 1U : 0U)) {
    const Done done = dones_.front().done;
    dones_.pop();
    to.push().done = done;
  }
  dones_.clear();
}

void UcxEndpoint::orphan() noexcept {
  close();
  dones_.clear();
  domain_ = nullptr;
}

}  // namespace plait::transport::ucx
