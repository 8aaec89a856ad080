#include "transport/verbs/endpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "transport/verbs/domain.h"
#include "transport/verbs/explain.h"

namespace plait::transport::verbs {

namespace {

constexpr uint8_t kReceiveTimer = 12;  // 0.64 ms, after which who met no receive tries again; never needed
constexpr int kPathMask = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kSendMask =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

std::string describe(const Op& op) {
  const char* what = op.control                      ? "a message about this connection"
                     : op.opcode == IBV_WR_RDMA_READ ? "a get"
                                                     : "a put";
  return std::string(what) + " (" + std::string(name_of(ibv_wr_opcode(op.opcode))) + ")";
}

}  // namespace

VerbsEndpoint::VerbsEndpoint(VerbsDomain& domain, Queues& queues, uint64_t id, uint16_t counters,
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

// A queue pair, with the device's newer calls where it has them.
Status VerbsEndpoint::start() {
  const Options& options = domain_->options();
  ibv_qp_init_attr_ex wish{};
  wish.qp_context = reinterpret_cast<void*>(id_);
  wish.send_cq = wish.recv_cq = &queues_->completions();
  wish.srq = &queues_->receives();
  wish.qp_type = IBV_QPT_RC;
  wish.pd = &domain_->device().pd();
  wish.cap.max_send_wr = uint32_t(options.depth + kControls);
  wish.cap.max_send_sge = 1;
  wish.cap.max_inline_data = uint32_t(domain_->capabilities().inline_bytes);
  wish.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  wish.send_ops_flags =
      IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ;
  ibv_context& context = domain_->device().context();
  queue_pair_.reset(ibv_create_qp_ex(&context, &wish));
  if (queue_pair_ != nullptr) {
    extended_ = ibv_qp_to_qp_ex(queue_pair_.get());
  } else {
    wish.comp_mask = IBV_QP_INIT_ATTR_PD;
    queue_pair_.reset(ibv_create_qp_ex(&context, &wish));
  }
  if (queue_pair_ == nullptr)
    return Status::system(errno, ours() + ": a queue pair (ulimit -l? too many of them?)");
  mine_.queue_pair = queue_pair_->qp_num;
  mine_.sum = sum_of(mine_);
  if (options.connect == Connect::cm) return {};
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = domain_->port();
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  return apply(attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
}

Status VerbsEndpoint::apply(ibv_qp_attr attributes, int mask, std::string_view step) {
  if (queue_pair_ == nullptr) return Status(Code::state, ours() + ": its queue pair has gone");
  const int error = ibv_modify_qp(queue_pair_.get(), &attributes, mask);
  if (error == 0) return {};
  std::string what = ours() + ": its queue pair could not be set to " + std::string(step);
  if (theirs_.queue_pair != 0)
    what += " towards " + peer_name() + " (is there a route from this port to it?)";
  return Status::system(error, what);
}

Status VerbsEndpoint::connect(ByteView peer_ticket) noexcept {
  if (state_ != State::opened) return Status(Code::state, ours() + ": connect() was called before");
  auto parsed = parse_ticket(peer_ticket);
  if (!parsed.ok()) return parsed.status();
  const bool infiniband = mine_.link == Link::infiniband;
  if (infiniband != (parsed->link == Link::infiniband) || (mine_.cm_port == 0) != (parsed->cm_port == 0))
    return Status(Code::invalid,
                  ours() + ": the ticket is of another kind of link, or of another way to connect");
  theirs_ = *parsed;
  state_ = State::connecting;
  domain_->connecting().push_back(this);
  const Status status = mine_.cm_port != 0 ? domain_->manager().connect(*this) : bring_up();
  if (!status.ok()) fail(status.code(), std::string(status.text()));
  return status;
}

// From INIT to where it receives, and then to where it sends. The peer may be anywhere in that.
Status VerbsEndpoint::bring_up() {
  const Options& options = domain_->options();
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = ibv_mtu(std::min(mine_.mtu, theirs_.mtu));
  a.dest_qp_num = theirs_.queue_pair;
  a.rq_psn = (theirs_.packet + (heard_ ? 1 : 0)) & 0xffffff;
  a.max_dest_rd_atomic = mine_.reads;
  a.min_rnr_timer = kReceiveTimer;
  a.ah_attr.dlid = theirs_.lid;
  a.ah_attr.sl = options.service_level;
  a.ah_attr.port_num = domain_->port();
  a.ah_attr.is_global = mine_.link != Link::infiniband || theirs_.lid == 0;
  std::memcpy(a.ah_attr.grh.dgid.raw, theirs_.gid.data(), theirs_.gid.size());
  a.ah_attr.grh.sgid_index = uint8_t(domain_->gid_index());
  a.ah_attr.grh.hop_limit = 64;
  a.ah_attr.grh.traffic_class = options.traffic_class;
  PLAIT_TRY(apply(a, IBV_QP_STATE | kPathMask, "RTR"));
  a.qp_state = IBV_QPS_RTS;
  a.timeout = options.timeout;
  a.retry_cnt = options.retries;
  a.rnr_retry = options.rnr_retries;
  a.sq_psn = mine_.packet;
  a.max_rd_atomic = std::min(mine_.reads, theirs_.reads);
  PLAIT_TRY(apply(a, IBV_QP_STATE | kSendMask, "RTS"));
  hello_due_ = true;
  return {};
}

// The hello found nobody: the peer did not connect yet. Nothing else was sent, so all can begin anew with the
// same numbers; what the peer has sent, its hello at most, is not expected again.
void VerbsEndpoint::bring_up_again() noexcept {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RESET;
  Status status = apply(attributes, IBV_QP_STATE, "RESET");
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = domain_->port();
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  if (status.ok())
    status = apply(attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
  if (status.ok()) status = bring_up();
  if (!status.ok()) fail(status.code(), std::string(status.text()));
}

// In poll(), since peers connect at much the same time: a hello that comes too early costs a timeout.
void VerbsEndpoint::greet() noexcept {
  if (!hello_due_) return;
  hello_due_ = false;
  control(0);
}

void VerbsEndpoint::become_ready() noexcept {
  if (state_ != State::connecting || !greeted_ || !heard_) return;
  state_ = State::ready;
  std::erase(domain_->connecting(), this);
  return_credits();
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
  fail(explain(completion.status).code, sentence(completion.status, what));
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
      fail(explain(completion.status).code,
           sentence(completion.status, ours() + ": what " + peer_name() + " sent"));
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
  to_error();
  drop_ops(code);
  domain_->give({cookie_, code}, id_, true);
}

void VerbsEndpoint::to_error() noexcept {
  if (queue_pair_ == nullptr) return;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ibv_modify_qp(queue_pair_.get(), &attributes, IBV_QP_STATE);
}

void VerbsEndpoint::force_error() noexcept {
  to_error();
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
    (void)queue_pair_.release();
    if (connection_ != nullptr) (void)connection_->id.release();
    return;
  }
  std::erase(domain_->connecting(), this);
  state_ = State::closed;
  if (mine_.cm_port != 0) domain_->manager().disconnect(*this);
  connection_.reset();
  to_error();
  domain_->reap_all();
  queue_pair_.reset();
  extended_ = nullptr;
  domain_->reap_all();
  domain_->device().forget(domain_->mail(), id_);
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
