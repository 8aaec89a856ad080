#include "connection.h"

#include <algorithm>

#include "devices.h"

namespace plait::nccl {

using bootstrap::Link;

namespace {

Status out_of_reach(const transport::Domain& domain) {
  if (domain.name() == kShm) {
    return {Code::unsupported,
            "it shares no memory with this process: it is on another host, or in another network namespace, "
            "or has another PLAIT_HOST_ID; PLAIT_NETWORK=tcp or verbs joins hosts"};
  }
  return {Code::unsupported, "it has no address that " + std::string(domain.name()) +
                                 " of this process can reach: PLAIT_IFACE and PLAIT_NETWORK choose"};
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::make(Fd fd, std::string who, bootstrap::Handshake handshake,
                                                     size_t rails, std::shared_ptr<const Side> side) {
  std::unique_ptr<Connection> c(new Connection(who, rails, std::move(side)));
  const bool dials = rails != 0;
  PLAIT_TRY(c->poller_.open());
  c->link_ = std::make_unique<Link>(c->poller_, std::move(fd), std::move(who), std::move(handshake),
                                    dials ? Link::State::connecting : Link::State::greeting);
  if (dials) c->link_->ready();  // inside a host it is connected already
  return c;
}

Status Connection::gone() const {
  if (link_->state() != Link::State::closed) return {};
  return {link_->status().code(), std::string(link_->status().text())};
}

bool Connection::alive() {
  poller_.wait(0);
  return link_->state() == Link::State::open;
}

bool Connection::hear(Word& word, Status& status) {
  auto message = link_->receive();
  if (!message) {
    status = gone();
    return false;
  }
  heard_ = std::move(*message);
  if (decode(heard_, word)) return true;
  status = Status(Code::version, "what it says is of another version of plait: all ranks must run the same");
  return false;
}

Status Connection::step() {
  if (ready()) return {};
  poller_.wait(0);
  Status status = talk();
  if (status.ok()) return status;
  const std::string& peer = peer_.empty() ? who_ : peer_;
  return {status.code(), "connecting to " + peer + ": " + std::string(status.text())};
}

// As many stages as can be had at once. What fails here is told to the peer. The dialer, who knows from the
// handle how many rails there are to be, offers first.
Status Connection::talk() {
  Word word;
  Status status;
  if (stage_ == Stage::greeting) {
    if (link_->state() != Link::State::open) return gone();
    if (link_->claim().purpose != kPurpose) return {Code::version, "it is no connection of NCCL's network"};
    link_->limit(kMostWord);
    if (rails_ != 0) status = offer();
    if (!status.ok()) link_->send(encode_answer(status));
    if (!status.ok()) return status;
    stage_ = Stage::offered;
  }
  if (stage_ == Stage::offered) {
    if (!hear(word, status)) return status;
    if (!word.is_offer)
      return Status(word.answer.code(), "it could not connect: " + std::string(word.answer.text()));
    status = take_offer(word.offer);
    if (!status.ok()) link_->send(encode_answer(status));
    if (!status.ok()) return status;
    stage_ = Stage::connecting;
  }
  if (stage_ == Stage::connecting) {
    status = wait_ready();
    if (!status.ok()) link_->send(encode_answer(status));
    if (!status.ok() || stage_ == Stage::connecting) return status;
  }
  // The endpoint of a peer that connects still may need this side's polls.
  wire_->domain().poll({});
  if (!hear(word, status)) return status;
  if (word.is_offer) return {Code::version, "it offered twice"};
  if (!word.answer.ok())
    return {word.answer.code(), "it could not connect: " + std::string(word.answer.text())};
  stage_ = Stage::ready;
  return {};
}

Status Connection::offer() {
  auto domain = side_->open(rails_);
  if (!domain.ok()) return domain.status();
  auto wire = Wire::open(std::move(*domain));
  if (!wire.ok()) return wire.status();
  wire_ = std::move(*wire);
  const Offer mine{uint32_t(rails_),           side_->network, side_->name, wire_->domain().identity(),
                   wire_->endpoint().ticket(), wire_->key()};
  const Bytes message = encode(mine);
  if (message.size() > kMostWord) return {Code::unsupported, "its ticket is too long"};
  return link_->send(message) ? Status() : gone();
}

Status Connection::take_offer(const Offer& offer) {
  peer_ = offer.name;
  if (offer.network != side_->network)
    return {Code::mismatch, "its network is \"" + offer.network + "\", of this process \"" + side_->network +
                                "\": set PLAIT_NETWORK alike on all ranks"};
  if (rails_ == 0) {
    rails_ = std::max<size_t>(offer.rails, side_->rails);
    PLAIT_TRY(this->offer());
  }
  if (!wire_->domain().reaches(offer.identity)) return out_of_reach(wire_->domain());
  their_key_.assign(offer.key.begin(), offer.key.end());
  return wire_->endpoint().connect(offer.ticket);
}

// Goes on to Stage::answered once this side can receive.
Status Connection::wait_ready() {
  wire_->domain().poll({});
  if (wire_->endpoint().state() == transport::State::failed)
    return {Code::peer, std::string(wire_->endpoint().error())};
  if (wire_->endpoint().state() != transport::State::ready)
    return link_->state() == Link::State::closed ? gone() : Status();
  PLAIT_TRY(wire_->link_up(their_key_, peer_));
  if (!link_->send(encode_answer({}))) return gone();
  stage_ = Stage::answered;
  return {};
}

}  // namespace plait::nccl
