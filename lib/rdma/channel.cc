#include "rdma/channel.h"

#include <algorithm>

#include "base/log.h"
#include "rdma/explain.h"
#include "rdma/hub.h"

namespace plait::rdma {

namespace {

std::string describe(const Request& request) {
  const char* what = request.control                      ? "a message about this connection"
                     : request.opcode == IBV_WR_RDMA_READ ? "a get"
                                                          : "a put";
  return std::string(what) + " (" + std::string(name_of(ibv_wr_opcode(request.opcode))) + ")";
}

}  // namespace

Channel::Channel(Hub& hub) noexcept
    : hub_(&hub), sender_(queue_pair_, hub.requests(), hub.chain(), hub.signal_every()) {}

// All before it are done, too: completions come in order.
void Channel::sent(const ibv_wc& completion) noexcept {
  const bool bad = completion.status != IBV_WC_SUCCESS;
  if (phase_ == Phase::failed) return;
  uint32_t count = sender_.before(completion);
  for (count += bad ? 0 : 1; count != 0 && !sender_.empty(); --count) finish(Code::ok);
  if (!bad || phase_ == Phase::closed || sender_.empty()) return;
  if (phase_ == Phase::connecting && completion.status == IBV_WC_RETRY_EXC_ERR && !connection_) {
    drop_requests(Code::peer);
    return bring_up_again();
  }
  const std::string what = ours() + ": " + describe(sender_.oldest()) + " to " + peer_name();
  fail(explain(completion.status).code, sentence(completion.status, what));
}

void Channel::finish(Code code) noexcept {
  const Request request = sender_.take();
  if (!request.control) return done(request, code);
  --controls_;
  if (code != Code::ok) return;
  greeted_ |= phase_ == Phase::connecting;
  become_ready();
  return_credits();
}

void Channel::received(const ibv_wc& completion, const Immediate& what) noexcept {
  if (completion.status != IBV_WC_SUCCESS) {
    if (completion.status != IBV_WC_WR_FLUSH_ERR && !over())
      fail(explain(completion.status).code,
           sentence(completion.status, ours() + ": what " + peer_name() + " sent"));
    return;
  }
  if (what.number != 0) {
    if (what.add == 0 || owed_ == mine_.signals || !signalled(what.number - 1, uint16_t(what.add)))
      return misdirected();
    ++owed_;
    return return_credits();
  }
  if (what.add > unharvested_) return misdirected();
  unharvested_ = uint16_t(unharvested_ - what.add);
  heard_ |= what.add == 0;
  become_ready();
}

void Channel::misdirected() noexcept {
  fail(Code::auth, ours() + ": " + peer_name() +
                       " sent a signal that names no counter of this endpoint, or has no credit");
}

// A quarter of the peer's credits at a time. It cannot be short of them before it used all.
void Channel::return_credits() noexcept {
  if (phase_ != Phase::ready || owed_ < std::max(1, mine_.signals / 4) || controls_ == kControls) return;
  const uint16_t owed = std::exchange(owed_, uint16_t(0));
  if (!control(owed)) owed_ = owed;
}

bool Channel::control(uint32_t add) noexcept {
  sender_.add_control(pack({theirs_.slot, 0, add}));
  ++controls_;
  ring();
  return !over();
}

void Channel::add(Piece& piece, uint16_t add) noexcept {
  if (piece.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
    piece.immediate = pack({theirs_.slot, uint32_t(piece.counter) + 1, add});
    ++unharvested_;
  }
  sender_.add(piece);
}

void Channel::ring() noexcept {
  if (const int error = sender_.ring(); error != 0)
    fail(Code::system, std::string(Status::system(error, ours() + ": posting to " + peer_name()).text()));
}

void Channel::fail(Code code, std::string why) noexcept {
  if (over()) return;
  log::info("{}: endpoint failed: {}", hub_->name(), why);
  hub_->stop_connecting(*this);
  error_ = std::move(why);
  phase_ = Phase::failed;
  queue_pair_.fail();
  drop_requests(code);
  failed(code);
}

void Channel::force_error() noexcept {
  queue_pair_.fail();
  if (phase_ == Phase::ready && controls_ < kControls) control(0);
}

void Channel::drop_requests(Code code) noexcept {
  while (!sender_.empty()) finish(code);
}

// What arrived before counts, so the queues are looked through before the queue pair is destroyed and after:
// some devices take its completions away with it, some bring the last ones just then.
void Channel::close() noexcept {
  if (phase_ == Phase::closed || hub_ == nullptr) return;
  if (!hub_->device().is_this_process()) {  // a forked child: what the kernel holds is its parent's
    queue_pair_.abandon();
    if (connection_ != nullptr) hub_->manager()->abandon(*connection_);
    return;
  }
  disconnect();
  phase_ = Phase::closed;
  if (queues_ == nullptr) return;
  queue_pair_.fail();
  hub_->reap_all();
  queue_pair_.destroy();
  hub_->reap_all();
  hub_->quieten(*this);
  mine_.queue_pair = 0;
  queues_->give();
  drop_requests(Code::aborted);
}

void Channel::orphan() noexcept {
  close();
  hub_ = nullptr;
}

void Channel::leave() noexcept {
  close();
  if (hub_ != nullptr && queues_ != nullptr) hub_->remove(*this);
}

std::string Channel::ours() const { return hub_->name() + " (" + hub_->place() + ")"; }

std::string Channel::peer_name() const {
  return "peer " + to_string(theirs_.gid) + " (queue pair " + std::to_string(theirs_.queue_pair) + ")";
}

}  // namespace plait::rdma
