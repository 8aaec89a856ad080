#include "transport/verbs/endpoint.h"

#include <algorithm>

#include "base/log.h"
#include "rdma/explain.h"
#include "transport/verbs/domain.h"

namespace plait::transport::verbs {

namespace {

std::string describe(const Op& op) {
  const char* what = op.control                      ? "a message about this connection"
                     : op.opcode == IBV_WR_RDMA_READ ? "a get"
                                                     : "a put";
  return std::string(what) + " (" + std::string(rdma::name_of(ibv_wr_opcode(op.opcode))) + ")";
}

}  // namespace

VerbsEndpoint::VerbsEndpoint(VerbsDomain& domain, rdma::Queues& queues, uint64_t id, uint16_t counters,
                             uint64_t cookie)
    : domain_(&domain),
      queues_(&queues),
      id_(id),
      cookie_(cookie),
      mine_(domain.ticket_of(id, counters)),
      counter_words_(std::make_unique<std::atomic<uint64_t>[]>(counters)),
      ops_(domain.pools().ops) {
  counters_ = counter_words_.get();
}

VerbsEndpoint::~VerbsEndpoint() {
  close();
  if (domain_ != nullptr) domain_->forget(*this);
}

Result<std::unique_ptr<RemoteRegion>> VerbsEndpoint::import(ByteView bytes) {
  if (state_ == State::opened || state_ == State::closed)
    return Status(Code::state, ours() + ": a key can be imported after connect(), and not after close()");
  const auto key = parse_key(bytes);
  if (!key.ok()) return key.status();
  if (key->owner != theirs_.domain)
    return Status(Code::auth, ours() + ": a key that is not of " + peer_name() + " was to be imported");
  return std::unique_ptr<RemoteRegion>(std::make_unique<PeerRegion>(this, *key));
}

// All before it are done, too: completions come in order.
void VerbsEndpoint::sent(const ibv_wc& completion) noexcept {
  const bool failed = completion.status != IBV_WC_SUCCESS;
  if (state_ == State::failed) return;
  uint32_t count = (uint32_t(completion.wr_id) - completed_) & kSequence;
  for (count += failed ? 0 : 1; count != 0 && !ops_.empty(); --count) finish(Code::ok);
  if (!failed || state_ == State::closed || ops_.empty()) return;
  if (state_ == State::connecting && completion.status == IBV_WC_RETRY_EXC_ERR && !connection_) {
    drop_ops(Code::peer);
    return bring_up_again();
  }
  const std::string what = ours() + ": " + describe(ops_.front()) + " to " + peer_name();
  fail(rdma::explain(completion.status).code, rdma::sentence(completion.status, what));
}

void VerbsEndpoint::finish(Code code) noexcept {
  const Op op = ops_.front();
  ops_.pop();
  ++completed_;
  if (op.control) {
    --controls_;
    if (code != Code::ok) return;
    greeted_ |= state_ == State::connecting;
    become_ready();
    return return_credits();
  }
  if (op.opcode == IBV_WR_RDMA_READ) --gets_[op.counter];
  if (op.when == When::never)
    --held_;
  else
    domain_->give({op.cookie, code}, id_, false);
}

void VerbsEndpoint::received(const ibv_wc& completion, const Immediate& what) noexcept {
  if (completion.status != IBV_WC_SUCCESS) {
    if (completion.status != IBV_WC_WR_FLUSH_ERR && !over())
      fail(rdma::explain(completion.status).code,
           rdma::sentence(completion.status, ours() + ": what " + peer_name() + " sent"));
    return;
  }
  if (what.number != 0) {
    if (what.number > mine_.counters || what.add == 0 || owed_ == mine_.signals) return misdirected();
    counters_[what.number - 1].fetch_add(what.add, std::memory_order_release);
    ++owed_;
    return return_credits();
  }
  if (what.add > unharvested_) return misdirected();
  unharvested_ = uint16_t(unharvested_ - what.add);
  heard_ |= what.add == 0;
  become_ready();
}

void VerbsEndpoint::misdirected() noexcept {
  fail(Code::auth, ours() + ": " + peer_name() +
                       " sent a signal that names no counter of this endpoint, or has no credit");
}

// A quarter of the peer's credits at a time. It cannot be short of them before it used all.
void VerbsEndpoint::return_credits() noexcept {
  if (state_ != State::ready || owed_ < std::max(1, mine_.signals / 4) || controls_ == kControls) return;
  const uint16_t owed = std::exchange(owed_, uint16_t(0));
  if (!control(owed)) owed_ = owed;
}

void VerbsEndpoint::fail(Code code, std::string why) noexcept {
  if (over()) return;
  log::info("{}: endpoint failed: {}", domain_->name(), why);
  std::erase(domain_->connecting(), this);
  error_ = std::move(why);
  state_ = State::failed;
  queue_pair_.fail();
  drop_ops(code);
  domain_->give({cookie_, code}, id_, true);
}

void VerbsEndpoint::force_error() noexcept {
  queue_pair_.fail();
  if (state_ == State::ready && controls_ < kControls) control(0);
}

void VerbsEndpoint::drop_ops(Code code) noexcept {
  while (!ops_.empty()) finish(code);
}

// What arrived before counts, so the queues are looked through before the queue pair is destroyed and after:
// some devices take its completions away with it, some bring the last ones just then.
void VerbsEndpoint::close() noexcept {
  if (state_ == State::closed || domain_ == nullptr) return;
  if (!domain_->device().is_this_process()) {  // a forked child: what the kernel holds is its parent's
    queue_pair_.abandon();
    if (connection_ != nullptr) domain_->manager()->abandon(*connection_);
    return;
  }
  disconnect();
  state_ = State::closed;
  queue_pair_.fail();
  domain_->reap_all();
  queue_pair_.destroy();
  domain_->reap_all();
  domain_->quieten(*this);
  mine_.queue_pair = 0;
  queues_->give();
  drop_ops(Code::aborted);
}

void VerbsEndpoint::orphan() noexcept {
  close();
  domain_ = nullptr;
}

std::string VerbsEndpoint::ours() const {
  return std::string(domain_->name()) + " (" + domain_->place() + ")";
}

std::string VerbsEndpoint::peer_name() const {
  return "peer " + to_string(theirs_.gid) + " (queue pair " + std::to_string(theirs_.queue_pair) + ")";
}

}  // namespace plait::transport::verbs
