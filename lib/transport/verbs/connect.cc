// How an endpoint's queue pair gets connected: by what the tickets say, or by the connection manager. After
// either the two sides say hello, and are ready when they heard the other's and know that their own was
// heard.
#include <algorithm>

#include "transport/verbs/domain.h"

namespace plait::transport::verbs {

// A queue pair that a ticket can name.
Status VerbsEndpoint::start() {
  const uint32_t depth = uint32_t(domain_->options().depth + kControls);
  const auto most = uint32_t(domain_->capabilities().inline_bytes);
  Status status =
      queue_pair_.make(domain_->device(), {&queues_->completions(), &queues_->receives(), depth, most, id_});
  mine_.queue_pair = queue_pair_.number();
  mine_.sum = sum_of(mine_);
  if (status.ok() && domain_->manager() == nullptr) status = queue_pair_.init(domain_->port().port.port);
  if (!status.ok()) return Status(status.code(), ours() + ": " + std::string(status.text()));
  if (domain_->manager() == nullptr) return status;
  connection_ = std::make_unique<rdma::Connection>();
  connection_->queue_pair = &queue_pair_;
  connection_->user = id_;
  connection_->mine = mine_.endpoint;
  domain_->manager()->add(*connection_);
  return status;
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
  const Status status = connection_ != nullptr ? connect_by_manager() : queue_pair_.bring_up(path());
  if (connection_ == nullptr || !status.ok()) connected(status);
  return status;
}

Status VerbsEndpoint::connect_by_manager() {
  connection_->theirs = theirs_.endpoint;
  connection_->gid = theirs_.gid;
  connection_->port = theirs_.cm_port;
  connection_->reads_in = mine_.reads;
  connection_->reads_out = std::min(mine_.reads, theirs_.reads);
  return domain_->manager()->connect(*connection_);
}

void VerbsEndpoint::connected(const Status& status) noexcept {
  hello_due_ = status.ok();
  if (!status.ok()) fail(status.code(), ours() + ": " + std::string(status.text()));
}

rdma::Path VerbsEndpoint::path() const noexcept {
  const Options& options = domain_->options();
  rdma::Path path;
  path.port = domain_->port().port.port;
  path.gid_index = uint8_t(domain_->port().port.gid_index);
  path.gid = theirs_.gid;
  path.lid = theirs_.lid;
  path.global = mine_.link != Link::infiniband || theirs_.lid == 0;
  path.mtu = ibv_mtu(std::min(mine_.mtu, theirs_.mtu));
  path.queue_pair = theirs_.queue_pair;
  path.first_in = theirs_.packet + (heard_ ? 1 : 0);
  path.first_out = mine_.packet;
  path.reads_in = mine_.reads;
  path.reads_out = std::min(mine_.reads, theirs_.reads);
  path.traffic_class = options.traffic_class;
  path.service_level = options.service_level;
  path.timeout = options.timeout;
  path.retries = options.retries;
  path.rnr_retries = options.rnr_retries;
  return path;
}

// The hello found nobody: the peer did not connect yet. Nothing else was sent, so all can begin anew with the
// same numbers; what the peer has sent, its hello at most, is not expected again.
void VerbsEndpoint::bring_up_again() noexcept {
  Status status = queue_pair_.reset();
  if (status.ok()) status = queue_pair_.init(domain_->port().port.port);
  if (status.ok()) status = queue_pair_.bring_up(path());
  connected(status);
}

// In poll(), since peers connect at much the same time: a hello that comes too early costs a timeout.
void VerbsEndpoint::greet() noexcept {
  if (std::exchange(hello_due_, false)) control(0);
}

void VerbsEndpoint::become_ready() noexcept {
  if (state_ != State::connecting || !greeted_ || !heard_) return;
  state_ = State::ready;
  std::erase(domain_->connecting(), this);
  return_credits();
}

void VerbsEndpoint::disconnect() noexcept {
  std::erase(domain_->connecting(), this);
  if (connection_ != nullptr) domain_->manager()->remove(*connection_);
  connection_.reset();
}

}  // namespace plait::transport::verbs
