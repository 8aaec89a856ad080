#include "transport/am/endpoint.h"

#include "base/log.h"
#include "transport/am/domain.h"
#include "transport/misuse.h"

namespace plait::transport::am {

MessageEndpoint::MessageEndpoint(MessageDomain& domain, const TicketHead& mine, uint64_t cookie,
                                 const Manners& manners)
    : domain_(&domain),
      mine_(mine),
      nonce_(mine.endpoint),
      cookie_(cookie),
      manners_(manners),
      depth_(domain.capabilities().depth),
      counter_words_(std::make_unique<std::atomic<uint64_t>[]>(mine.counters)),
      ops_(domain.pools().ops),
      served_(domain.pools().served),
      dones_(domain.pools().dones),
      pacer_(manners.under_way) {
  counters_ = counter_words_.get();
}

void MessageEndpoint::leave() noexcept {
  close();
  if (domain_ != nullptr) domain_->forget(*this);
  domain_ = nullptr;
}

std::string MessageEndpoint::peer_name() const {
  return "peer process " + std::to_string(theirs_.pid) + " on host " + theirs_.host.data();
}

Status MessageEndpoint::connect(ByteView view) noexcept {
  const std::string_view who = domain_->maker().name;
  if (state_ != State::opened) return connected_before(who);
  auto ticket = parse_ticket(view, domain_->maker());
  if (!ticket.ok()) return ticket.status();
  if (ticket->head.endpoint == nonce_) return own_ticket(who);
  theirs_ = ticket->head;
  PLAIT_TRY(reach(*ticket));
  state_ = State::connecting;
  if (heard_ != theirs_.endpoint) heard_ = 0;
  size_t budget = 1;
  move(budget);
  if (busy()) domain_->has_work(*this);
  return {};
}

void MessageEndpoint::become_ready() noexcept {
  if (state_ != State::connecting || !greeted_ || heard_ != theirs_.endpoint) return;
  state_ = State::ready;
  log::info("{}: connected to {}", domain_->name(), peer_name());
}

Result<std::unique_ptr<RemoteRegion>> MessageEndpoint::import(ByteView key) {
  const Maker& maker = domain_->maker();
  if (state_ == State::opened || state_ == State::closed) return import_out_of_turn(maker.name);
  return PeerRegion::make(maker, this, theirs_.domain, key);
}

// Out of turn is what comes after something that was lost.
void MessageEndpoint::refuse(Refusal refusal) noexcept {
  refused_ = refusal;
  fail(refusal == Refusal::order ? Code::peer : Code::auth,
       peer_name() + " sent " + describe(refusal) +
           (refusal == Refusal::order ? std::string(": ") + manners_.out_of_turn : ""));
}

void MessageEndpoint::fail(Code code, std::string text) noexcept {
  if (state_ == State::failed || state_ == State::closed) return;
  log::info("{}: endpoint failed: {}", domain_->name(), text);
  error_ = std::move(text);
  state_ = State::failed;
  drop(code);
  dones_.push_own({cookie_, code});
  domain_->has_work(*this);
}

void MessageEndpoint::drop(Code code) noexcept {
  let_go();
  for (OpQueue* queue : {&waiting_[0], &waiting_[1], &unacked_, &gets_}) queue->clear();
  served_.clear();
  while (Op* op = ops_.newest()) finished(*op, code);
}

void MessageEndpoint::close() noexcept {
  if (state_ == State::closed || domain_ == nullptr || !domain_->is_this_process()) return;
  if (manners_.says_goodbye && (state_ == State::ready || state_ == State::connecting))
    tell(Kind::goodbye, 0);
  state_ = State::closed;
  drop(Code::aborted);
}

void MessageEndpoint::orphan() noexcept {
  close();
  dones_.clear();
  domain_ = nullptr;
}

}  // namespace plait::transport::am
