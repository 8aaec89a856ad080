// Connecting queue pairs by the RDMA connection manager: it resolves addresses and paths by the fabric's own
// means, and tells when a peer goes. Both sides know each other's address, port and nonce beforehand, from
// somewhere else; the one with the smaller nonce dials, and who shows both nonces is let in.
#pragma once

#include <rdma/rdma_cma.h>

#include <functional>
#include <unordered_map>

#include "rdma/queue_pair.h"

namespace plait::rdma {

// What the manager knows of a queue pair. Its owner keeps it, and `queue_pair`, from add() to remove().
struct Connection {
  QueuePair* queue_pair = nullptr;
  uint64_t user = 0;
  uint64_t mine = 0;  // a nonce; never 0
  // Known by connect().
  uint64_t theirs = 0;
  Gid gid{};
  uint16_t port = 0;
  uint8_t reads_in = 1, reads_out = 1;

  Owned<rdma_cm_id, rdma_destroy_id> id;
  uint64_t dialed_by = 0;  // the peer came before connect(), with this nonce
};

class Manager {
 public:
  struct Options {
    uint8_t traffic_class = 0, timeout = 14, retries = 6, rnr_retries = 6;
  };
  // What became of a connection: ok when its queue pair can send; an error once, when it cannot, or not any
  // more.
  using Told = std::function<void(uint64_t user, const Status& status)>;
  Manager(const Options& options, Told told) : options_(options), told_(std::move(told)) {}

  // Listens at the address that `gid` is, on any port.
  Status start(const Gid& gid);
  int fd() const noexcept { return channel_ == nullptr ? -1 : channel_->fd; }
  uint16_t port() const noexcept;
  // In a forked child: leaves what the kernel holds to the parent.
  void abandon() noexcept;
  void abandon(Connection& connection) noexcept;

  void add(Connection& connection) { known_[connection.mine] = &connection; }
  Status connect(Connection& connection);
  void remove(Connection& connection) noexcept;  // disconnects, too
  // What happened; true when something did. A system call.
  bool look() noexcept;

 private:
  Status dial(Connection& connection);
  Status offer(Connection& connection);
  Status accept(Connection& connection);
  Status finish(Connection& connection);
  Status raise(Connection& connection, std::initializer_list<ibv_qp_state> states);
  rdma_conn_param parameters(const Connection& connection) const noexcept;
  void requested(rdma_cm_id* id, uint64_t to, uint64_t from) noexcept;
  void advance(Connection& connection, const rdma_cm_event& event) noexcept;
  void tell(const Connection& connection, const Status& status) noexcept;
  Connection* find(uint64_t nonce) noexcept;

  const Options options_;
  const Told told_;
  Gid gid_{};
  Owned<rdma_event_channel, rdma_destroy_event_channel> channel_;
  Owned<rdma_cm_id, rdma_destroy_id> listener_;
  std::unordered_map<uint64_t, Connection*> known_;  // by nonce
};

}  // namespace plait::rdma
