// How an endpoint meets its peer: the one with the smaller ticket dials mailbox and bulk, the other one the
// pulse, at once: so that each side, waiting for the other, holds a connection that ends when the other does.
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "transport/misuse.h"
#include "transport/tcp/domain.h"
#include "transport/tcp/endpoint.h"
#include "transport/tcp/polled.h"
#include "transport/tcp/socket.h"

namespace plait::transport::tcp {

Status TcpEndpoint::connect(ByteView view) noexcept {
  if (state_ != State::opened) return connected_before(kMaker.name);
  auto ticket = parse_ticket(view);
  if (!ticket.ok()) return ticket.status();
  if (ticket->endpoint == nonce()) return own_ticket(kMaker.name);
  Status begun = begin(*ticket);
  if (!begun.ok()) fail(begun.code(), std::string(begun.text()));
  return begun;
}

Status TcpEndpoint::begin(const Ticket& peer_ticket) {
  domain_->changed(*this, state_, State::connecting);
  state_ = State::connecting;
  Parties& parties = greeting_->parties;
  parties.theirs = peer_ticket;
  parties.routes = domain_->routes_to(peer_ticket);
  their_domain_ = peer_ticket.domain;
  their_counters_ = peer_ticket.counters;
  if (parties.routes.empty())
    return Status(Code::unsupported, peer_name() + " has no address of a family that " +
                                         std::string(domain_->name()) + " has too");
  if (peer_ticket.tls != parties.mine.tls) {
    return Status(Code::mismatch, std::string(parties.mine.tls != 0 ? "this rank" : peer_name()) +
                                      " wants TLS (PLAIT_NETWORK=tcp?tls=1) and " +
                                      (parties.mine.tls != 0 ? peer_name() : "this rank") +
                                      " does not: set PLAIT_NETWORK alike on all ranks");
  }
  while (lanes_.size() > 1U + peer_ticket.bulk_lanes) lanes_.pop_back();
  dials_ = std::memcmp(&parties.mine, &parties.theirs, sizeof(Ticket)) < 0;
  for (Link& link : greeting_->links) {
    const auto i = size_t(link.lane());
    if (link.phase() == Link::Phase::held &&
        (!has(i) || dials(i) || link.hello().from != peer_ticket.endpoint))
      link.drop(parties);
    if (!has(i)) continue;
    if (dials(i)) {
      PLAIT_TRY(link.dial(parties));
    } else if (link.phase() == Link::Phase::held) {
      link.answer(parties);
    }
  }
  move_on({});
  return {};
}

bool TcpEndpoint::greeted(Fd& socket, std::unique_ptr<Tls>& tls, const Hello& hello) noexcept {
  const size_t lane = hello.lane;
  if (state_ != State::opened && state_ != State::connecting) return false;
  Parties& parties = greeting_->parties;
  Link* link = link_of(lane);
  if (link == nullptr) return false;
  if (hello.kind != uint8_t(HelloKind::hello) || !same_token(hello.token, parties.mine.tokens[lane]))
    return false;
  const bool known = state_ == State::connecting;
  if (known && (!has(lane) || dials(lane) || hello.from != parties.theirs.endpoint)) return false;
  if (!link->hold(socket, tls, hello, parties)) return false;
  if (!known) return true;
  link->answer(parties);
  move_on({});
  return true;
}

void TcpEndpoint::ready(Lane lane, uint32_t events) noexcept {
  if (state_ == State::opened || state_ == State::connecting) {
    if (Link* link = link_of(size_t(lane))) move_on(link->ready(greeting_->parties, events));
  } else if (state_ == State::ready && lane == Lane::pulse) {
    pulse_ready();
  } else if (state_ == State::ready) {
    if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) lanes_[size_t(lane)].ends();
    if ((events & ~uint32_t(EPOLLOUT)) != 0) domain_->engine().stirred(lanes_[size_t(lane)]);
  }
}

void TcpEndpoint::tick(int64_t now) noexcept {
  for (size_t i = 0; state_ == State::connecting && i < greeting_->links.size(); ++i)
    move_on(greeting_->links[i].tick(greeting_->parties, now));
}

int64_t TcpEndpoint::due_ns() const noexcept {
  int64_t due = INT64_MAX;
  if (state_ != State::connecting) return due;
  for (const Link& link : greeting_->links) due = std::min(due, link.due_ns());
  return due;
}

void TcpEndpoint::move_on(const Status& status) noexcept {
  Status so_far = status;
  if (so_far.ok() && state_ == State::connecting && all_up()) so_far = become_ready();
  if (!so_far.ok()) fail(so_far.code(), std::string(so_far.text()));
}

Link* TcpEndpoint::link_of(size_t lane) noexcept {
  auto& links = greeting_->links;
  const auto it = std::ranges::find(links, Lane(lane), &Link::lane);
  return it == links.end() ? nullptr : &*it;
}

bool TcpEndpoint::all_up() const noexcept {
  return std::ranges::all_of(greeting_->links,
                             [&](const Link& link) { return link.up() || !has(size_t(link.lane())); });
}

Status TcpEndpoint::become_ready() {
  for (Connection& lane : lanes_) {
    Link& link = *link_of(size_t(lane.lane()));
    Fd socket = link.take();
    lane.start(std::move(socket), link.take_tls());
    if (lane.lane() != Lane::mailbox)
      set_pacing(lane.fd(), domain_->options().pacing_Bps / double(lanes_.size() - 1));
    lane.watched = domain_->engine().add(lane);
    if (!domain_->poller().change(lane.fd(), Watch::lane, watch_id(lane.lane()), lane.watched))
      return Status::system(errno, "tcp: watching a connection");
  }
  pulse_ = greeting_->links.back().take();
  set_pulse(pulse_.get(), domain_->options().user_timeout_ms);
  if (!domain_->poller().change(pulse_.get(), Watch::lane, watch_id(Lane::pulse), kReadable))
    return Status::system(errno, "tcp: watching a connection");
  domain_->changed(*this, state_, State::ready);
  state_ = State::ready;
  peer_name_ = peer_name();
  greeting_.reset();
  for (Connection& lane : lanes_) {
    if (lane.holds()) domain_->engine().stirred(lane);
  }
  log::info("{}: connected to {}{}", domain_->name(), peer_name_, lanes_[0].seal());
  return {};
}

void TcpEndpoint::pulse_ready() noexcept {
  std::byte byte{};
  iovec part{&byte, 1};
  const ssize_t got = receive_some(pulse_.get(), std::span(&part, 1));
  if (got > 0) return refuse(Refusal::nonsense);
  if (got < 0 && would_block(errno)) return;
  ended(got == 0 ? 0 : errno);
}

}  // namespace plait::transport::tcp
