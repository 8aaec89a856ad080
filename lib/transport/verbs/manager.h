// Connecting by the RDMA connection manager, where options ask for it: it resolves addresses and paths by the
// fabric's own means, and tells when a peer goes. The endpoint with the smaller nonce dials.
#pragma once

#include "transport/verbs/endpoint.h"

namespace plait::transport::verbs {

class Manager {
 public:
  explicit Manager(VerbsDomain& domain) noexcept : domain_(domain) {}
  // Listens at the address that `gid` is, on any port.
  Status start(const Gid& gid);
  int fd() const noexcept { return channel_ == nullptr ? -1 : channel_->fd; }
  // In a forked child: leaves what the kernel holds to the parent.
  void abandon() noexcept {
    (void)listener_.release();
    (void)channel_.release();
  }
  uint16_t port() const noexcept {
    return listener_ == nullptr ? 0 : ntohs(rdma_get_src_port(listener_.get()));
  }
  Status connect(VerbsEndpoint& endpoint);
  void disconnect(VerbsEndpoint& endpoint) noexcept;
  // What happened; true when something did. A system call.
  bool look() noexcept;

 private:
  Status dial(VerbsEndpoint& endpoint, Connection& connection);
  Status offer(VerbsEndpoint& endpoint, rdma_cm_id& id);
  Status accept(VerbsEndpoint& endpoint, rdma_cm_id& id);
  Status finish(VerbsEndpoint& endpoint, rdma_cm_id& id);
  Status raise(VerbsEndpoint& endpoint, rdma_cm_id& id, std::initializer_list<ibv_qp_state> states);
  rdma_conn_param parameters(const VerbsEndpoint& endpoint) const noexcept;
  void requested(rdma_cm_id* id, ByteView said) noexcept;
  Status advance(VerbsEndpoint& endpoint, rdma_cm_id& id, const rdma_cm_event& event);

  VerbsDomain& domain_;
  Gid gid_{};
  Owned<rdma_event_channel, rdma_destroy_event_channel> channel_;
  Owned<rdma_cm_id, rdma_destroy_id> listener_;
};

}  // namespace plait::transport::verbs
