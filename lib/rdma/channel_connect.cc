// How a channel's queue pair gets connected: by what the two stations say, or by the connection manager.
// After either the two sides say hello, and are ready when they heard the other's and know that their own was
// heard.
#include <algorithm>

#include "rdma/hub.h"

namespace plait::rdma {

Status Channel::open() {
  auto place = hub_->admit(*this);
  if (!place.ok()) return place.status();
  queues_ = place->queues;
  id_ = place->id;
  sender_.set_id(id_);
  mine_ = place->station;
  const auto depth = uint32_t(hub_->options().depth + kControls);
  Status status = queue_pair_.make(
      hub_->device(), {&queues_->completions(), &queues_->receives(), depth, hub_->inline_bytes(), id_});
  mine_.queue_pair = queue_pair_.number();
  Manager* const manager = hub_->manager();
  if (status.ok() && manager == nullptr) status = queue_pair_.init(hub_->port().port.port);
  if (!status.ok()) return Status(status.code(), ours() + ": " + std::string(status.text()));
  if (manager == nullptr) return status;
  connection_ = std::make_unique<Connection>();
  connection_->queue_pair = &queue_pair_;
  connection_->user = id_;
  connection_->mine = mine_.nonce;
  manager->add(*connection_);
  return status;
}

Status Channel::connect(const Station& peer) {
  if (const char* why = mismatch(mine_, peer); why != nullptr)
    return Status(Code::invalid, ours() + ": the peer's ticket is " + why);
  theirs_ = peer;
  phase_ = Phase::connecting;
  hub_->start_connecting(*this);
  const Status status = connection_ != nullptr ? connect_by_manager() : queue_pair_.bring_up(path());
  if (connection_ == nullptr || !status.ok()) connected(status);
  return status;
}

Status Channel::connect_by_manager() {
  connection_->theirs = theirs_.nonce;
  connection_->gid = theirs_.gid;
  connection_->port = theirs_.cm_port;
  connection_->reads_in = mine_.reads;
  connection_->reads_out = std::min(mine_.reads, theirs_.reads);
  return hub_->manager()->connect(*connection_);
}

void Channel::connected(const Status& status) noexcept {
  hello_due_ = status.ok();
  if (!status.ok()) fail(status.code(), ours() + ": " + std::string(status.text()));
}

Path Channel::path() const noexcept {
  const Port& port = hub_->port().port;
  return path_between(mine_, theirs_, hub_->options(), port.port, uint8_t(port.gid_index), heard_);
}

// The hello found nobody: the peer did not connect yet. Nothing else was sent, so all can begin anew with the
// same numbers; what the peer has sent, its hello at most, is not expected again.
void Channel::bring_up_again() noexcept {
  Status status = queue_pair_.reset();
  if (status.ok()) status = queue_pair_.init(hub_->port().port.port);
  if (status.ok()) status = queue_pair_.bring_up(path());
  connected(status);
}

// When the hub is polled, since peers connect at much the same time: a hello that comes too early costs a
// timeout.
void Channel::greet() noexcept {
  if (std::exchange(hello_due_, false)) control(0);
}

void Channel::become_ready() noexcept {
  if (phase_ != Phase::connecting || !greeted_ || !heard_) return;
  phase_ = Phase::ready;
  hub_->stop_connecting(*this);
  return_credits();
}

void Channel::disconnect() noexcept {
  hub_->stop_connecting(*this);
  if (connection_ != nullptr) hub_->manager()->remove(*connection_);
  connection_.reset();
}

}  // namespace plait::rdma
