// How an endpoint meets its peer: the one with the smaller ticket dials and says hello, the other answers.
#include <cerrno>
#include <cstring>

#include "transport/misuse.h"
#include "transport/shm/domain.h"
#include "transport/shm/endpoint.h"

namespace plait::transport::shm {

Status ShmEndpoint::connect(ByteView view) noexcept {
  if (state_ != State::opened) return connected_before("shm");
  auto ticket = parse_ticket(view);
  if (!ticket.ok()) return ticket.status();
  Status begun = begin(*ticket);
  if (!begun.ok()) fail(begun);
  return begun;
}

Status ShmEndpoint::begin(const Ticket& peer_ticket) {
  peer_ticket_ = peer_ticket;
  set_state(State::connecting);
  const int order = std::memcmp(&ticket_, &peer_ticket_, sizeof ticket_);
  if (order == 0) return begin_self();
  dials_ = order < 0;
  if (dials_) {
    dial();
    return {};
  }
  if (early_ != nullptr) greeted(std::move(*early_));
  early_.reset();
  if (state_ == State::connecting) look_out();
  return {};
}

Status ShmEndpoint::begin_self() {
  auto peer = meet_self(process_, domain_->nonce(), domain_->words().get(), domain_->event());
  if (!peer.ok()) return peer.status();
  peer_ = std::move(*peer);
  theirs_ = control_;
  their_counters_ = counter_count_;
  self_ = true;
  peer_asleep_ = &peer_->words->asleep;
  link_ = process_.link_up(control_, domain_->words());
  set_state(State::ready);
  return {};
}

void ShmEndpoint::dial() noexcept {
  Fd socket = shm::dial(peer_ticket_.listener);
  if (!socket) {
    if (errno == EAGAIN) return;  // its queue is full: poll() tries again
    return refused(errno);
  }
  auto who = peer_of(socket.get());
  Status status = who.ok() ? check_user(*who) : who.status();
  if (status.ok()) status = say_hello(socket.get());
  if (status.ok()) status = domain_->watch(socket.get(), *this);
  if (!status.ok()) return fail(status);
  socket_ = std::move(socket);
}

// Who is dialed holds a silent connection until then, which ends when the peer's process does.
void ShmEndpoint::look_out() noexcept {
  Fd socket = shm::dial(peer_ticket_.listener);
  if (!socket && errno == ECONNREFUSED) return refused(errno);
  if (!socket) return;  // the deadline of whoever waits must do
  auto who = peer_of(socket.get());
  Status status = who.ok() ? check_user(*who) : who.status();
  if (status.ok()) status = domain_->watch(socket.get(), *this);
  if (!status.ok()) return fail(status);
  socket_ = std::move(socket);
}

void ShmEndpoint::refused(int error) noexcept {
  fail(Code::peer, "the peer's socket refused the connection (" + std::string(std::strerror(error)) +
                       "): its process exited, or runs in another network namespace");
}

Status ShmEndpoint::say_hello(int socket) {
  const Arena& arena = process_.arena();
  Hello hello;
  hello.counters = counter_count_;
  hello.from = ticket_.endpoint;
  hello.to = peer_ticket_.endpoint;
  hello.arena = arena.identity();
  hello.arena_bytes = arena.bytes();
  hello.control = arena.offset(control_);
  hello.words = arena.offset(domain_->words().get());
  hello.domain = domain_->nonce();
  hello.process = process_.nonce();
  hello.probe = reinterpret_cast<uintptr_t>(&process_.nonce());
  hello.light = process_.light() ? 1 : 0;
  // From here on the peer may touch what this endpoint shares.
  if (link_ == 0) link_ = process_.link_up(control_, domain_->words());
  const int fds[2] = {arena.fd(), domain_->event()};
  if (send_message(socket, bytes_of(hello), fds)) return {};
  return Status::system(errno, "shm: sending the first message to the peer");
}

// Who is not the peer of the ticket is sent away, and the endpoint waits on: a stranger cannot end it.
void ShmEndpoint::greeted(Greeting greeting) noexcept {
  if (state_ == State::opened && early_ == nullptr) {
    early_ = std::make_unique<Greeting>(std::move(greeting));
    return;
  }
  if (state_ != State::connecting || dials_ || self_ || greeting.hello.from != peer_ticket_.endpoint) return;
  Status accepted = accept(std::move(greeting));
  if (!accepted.ok()) fail(accepted);
}

Status ShmEndpoint::accept(Greeting greeting) {
  PLAIT_TRY(adopt(greeting));
  PLAIT_TRY(say_hello(greeting.socket.get()));
  if (socket_) domain_->unwatch(socket_.get());
  PLAIT_TRY(domain_->watch(greeting.socket.get(), *this));
  socket_ = std::move(greeting.socket);
  set_state(State::ready);
  return {};
}

// Nothing of the hello is used before it was checked.
Status ShmEndpoint::adopt(Greeting& greeting) {
  const Hello& hello = greeting.hello;
  if (hello.magic != kMagic) return Status(Code::auth, "the peer's first message is not plait's");
  if (hello.version != kVersion)
    return Status(Code::version, "the peer speaks version " + std::to_string(hello.version) +
                                     " of the shared-memory transport, this rank " +
                                     std::to_string(kVersion));
  if (hello.from != peer_ticket_.endpoint || hello.to != ticket_.endpoint || hello.counters > kCounters)
    return Status(Code::auth, "the peer's first message is not of the endpoint that its ticket names");
  auto peer = domain_->meet(greeting);
  if (!peer.ok()) return peer.status();
  auto* theirs = (*peer)->arena->at<Control>(hello.control);
  if (theirs == nullptr || theirs == control_)
    return Status(Code::auth, "the peer's counters lie outside of its shared memory");
  uint64_t grant = theirs->grant.load(std::memory_order_acquire);
  if (grant == 0) return Status(Code::peer, (*peer)->name() + " closed this endpoint");
  if (grant != hello.from) return Status(Code::auth, "the peer's counters are another endpoint's");
  peer_ = std::move(*peer);
  theirs_ = theirs;
  their_counters_ = hello.counters;
  peer_asleep_ = &peer_->words->asleep;
  return {};
}

// The answer to the dialer's hello.
void ShmEndpoint::answered() noexcept {
  Greeting greeting;
  Fd fds[2];
  ssize_t got = receive_message(socket_.get(), std::as_writable_bytes(std::span(&greeting.hello, 1)), fds);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (!dials_ && got > 0) return fail(Code::auth, "the peer answered what was not asked");
  if (got == 0 || (got < 0 && errno == ECONNRESET))
    return fail(Code::peer,
                "the peer hung up while connecting: its endpoint was closed, or its process died");
  if (got != sizeof greeting.hello || !fds[0])
    return fail(Code::auth, "the peer's first message is not plait's");
  auto who = peer_of(socket_.get());
  if (!who.ok()) return fail(who.status());
  greeting.who = *who;
  greeting.arena = std::move(fds[0]);
  greeting.event = std::move(fds[1]);
  Status adopted = adopt(greeting);
  if (!adopted.ok()) return fail(adopted);
  set_state(State::ready);
}

}  // namespace plait::transport::shm
