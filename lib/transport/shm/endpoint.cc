#include "transport/shm/endpoint.h"

#include <sched.h>

#include "base/clock.h"
#include "base/log.h"
#include "transport/shm/domain.h"

namespace plait::transport::shm {

ShmEndpoint::ShmEndpoint(ShmDomain& domain, uint64_t id, const Ticket& ticket, Control* control,
                         uint16_t counters, uint64_t cookie)
    : domain_(&domain),
      process_(domain.process()),
      id_(id),
      cookie_(cookie),
      counter_count_(counters),
      ticket_(ticket),
      control_(control),
      ops_(domain.pools().ops),
      dones_(domain.pools().dones) {
  counters_ = control_->counters;
  control_->grant.store(ticket_.endpoint, std::memory_order_release);
}

ShmEndpoint::~ShmEndpoint() {
  close();
  if (domain_ != nullptr) domain_->forget(*this);
  if (!process_.is_this()) return;
  if (link_ == 0) {
    process_.drop_control(control_);
    return;
  }
  if (theirs_ != nullptr) theirs_->detached.store(1, std::memory_order_release);
  process_.link_down(link_, peer_dead_ || self_);
}

Result<std::unique_ptr<RemoteRegion>> ShmEndpoint::import(ByteView key) {
  if (peer_ == nullptr || state_ == State::closed)
    return Status(Code::state,
                  "shm: a key can be imported once the endpoint is ready, and not after close()");
  return PeerRegion::make(this, *peer_, key);
}

void ShmEndpoint::set_state(State state) noexcept {
  if (domain_ != nullptr) domain_->counted(state_, state);
  state_ = state;
}

void ShmEndpoint::wake() noexcept {
  if (peer_ != nullptr && process_.is_this()) peer_->wake();
}

void ShmEndpoint::readable() noexcept {
  if (state_ == State::connecting) return answered();
  std::byte message[16];
  ssize_t got = receive_message(socket_.get(), message);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (got == 1 && message[0] == kGoodbye) return fail(Code::peer, peer_->name() + " closed this endpoint");
  if (got > 0) return fail(Code::auth, peer_->name() + " sent what is no message of plait's");
  lost();
}

void ShmEndpoint::lost() noexcept {
  peer_dead_ = peer_ != nullptr && !peer_->same_process;
  fail(Code::peer, (peer_ ? peer_->name() : "the peer") + " closed its connection: it exited or was killed");
}

void ShmEndpoint::fail(Code code, std::string text) noexcept {
  if (state_ == State::failed || state_ == State::closed) return;
  log::info("shm: endpoint failed: {}", text);
  error_ = std::move(text);
  set_state(State::failed);
  drop_ops(code);
  dones_.push_own({cookie_, code});
  if (domain_ == nullptr) return;
  domain_->has_work(*this);
  if (socket_) domain_->unwatch(socket_.get());  // a dead peer's would keep wait_fd() readable
}

void ShmEndpoint::drop_ops(Code code) noexcept {
  for (; !ops_.empty(); ops_.pop()) {
    const Transfer& transfer = ops_.front().transfer;
    if (transfer.when != When::never) dones_.push({transfer.cookie, code});
  }
}

void ShmEndpoint::close() noexcept {
  if (state_ == State::closed || !process_.is_this()) return;
  control_->grant.store(0, std::memory_order_seq_cst);
  if (theirs_ != nullptr && !self_) {
    process_.heavy_barrier();
    wait_out_writer();
  }
  peer_asleep_ = nullptr;
  set_state(State::closed);
  drop_ops(Code::aborted);
  hang_up();
  early_.reset();
  if (domain_ != nullptr && busy()) domain_->has_work(*this);
}

// A piece that the peer began before it saw the grant go: a few microseconds, unless it was stopped or
// killed.
void ShmEndpoint::wait_out_writer() noexcept {
  constexpr int64_t kPatienceMs = 2000;
  if (control_->writing.load(std::memory_order_seq_cst) == 0) return;
  Deadline deadline = Deadline::in_ms(kPatienceMs);
  while (control_->writing.load(std::memory_order_acquire) != 0) {
    if (peer_dead_ || (socket_ && !peer_->alive(socket_.get()) && !peer_->same_process)) return;
    if (deadline.passed()) {
      log::error("shm: {} was stopped in the midst of a write: do not free or reuse what it may write to",
                 peer_->name());
      return;
    }
    sched_yield();
  }
}

void ShmEndpoint::hang_up() noexcept {
  if (!socket_) return;
  if (!peer_dead_) send_message(socket_.get(), std::span(&kGoodbye, 1));
  if (domain_ != nullptr) domain_->unwatch(socket_.get());
  socket_.reset();
}

void ShmEndpoint::orphan() noexcept {
  close();
  dones_.clear();
  domain_ = nullptr;
}

}  // namespace plait::transport::shm
