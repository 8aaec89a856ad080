// One rail to one peer: a reliable connected queue pair. endpoint.cc: its life; post.cc: taking transfers.
#pragma once

#include <rdma/rdma_cma.h>

#include <memory>
#include <string>

#include "base/slab.h"
#include "transport/verbs/queues.h"

namespace plait::transport::verbs {

class VerbsDomain;
// What the connection manager has of an endpoint.
struct Connection {
  Owned<rdma_cm_id, rdma_destroy_id> id;
  uint64_t from = 0;  // the peer has dialed, and this is its nonce; connect() was not called yet
};

// A work request under way.
struct Op {
  Op* next = nullptr;
  uint64_t cookie = 0;
  When when = When::never;
  uint8_t opcode = IBV_WR_RDMA_WRITE;
  bool control = false;  // a hello or credits: no transfer
  uint8_t counter = 0;   // modulo kCounters
};

struct DoneItem {
  DoneItem* next = nullptr;
  Done done;
  uint64_t endpoint = 0;
  bool own = false;  // the endpoint's cookie
};

class PeerRegion final : public RemoteRegion {
 public:
  PeerRegion(const class VerbsEndpoint* endpoint, const Key& key) noexcept
      : RemoteRegion(key.bytes, Access(key.access)), endpoint_(endpoint), key_(key) {}
  std::byte* mapped() const noexcept override { return nullptr; }
  const VerbsEndpoint* endpoint() const noexcept { return endpoint_; }
  const Key& key() const noexcept { return key_; }

 private:
  const VerbsEndpoint* endpoint_;
  const Key key_;
};

class VerbsEndpoint final : public Endpoint {
 public:
  VerbsEndpoint(VerbsDomain& domain, Queues& queues, uint64_t id, uint16_t counters, uint64_t cookie);
  ~VerbsEndpoint() override;
  Status start();

  ByteView ticket() const noexcept override { return bytes_of(mine_); }
  Status connect(ByteView peer_ticket) noexcept override;
  State state() const noexcept override { return state_; }
  std::string_view error() const noexcept override { return error_; }
  Result<std::unique_ptr<RemoteRegion>> import(ByteView key) override;
  size_t post(std::span<const Transfer> transfers) noexcept override;
  void close() noexcept override;

  // What the domain calls.
  uint64_t id() const noexcept { return id_; }
  uint32_t number() const noexcept { return mine_.queue_pair; }  // of the queue pair; 0: none
  const Ticket& mine() const noexcept { return mine_; }
  const Ticket& theirs() const noexcept { return theirs_; }
  void greet() noexcept;
  void sent(const ibv_wc& completion) noexcept;
  void received(const ibv_wc& completion, const Immediate& what) noexcept;
  void misdirected() noexcept;
  void taken() noexcept { --held_; }  // a Done of it was
  void fail(Code code, std::string why) noexcept;
  void force_error() noexcept;
  // The connection manager's: the queue pair can send now.
  Status apply(ibv_qp_attr attributes, int mask, std::string_view step);
  void connected() noexcept { hello_due_ = true; }
  std::unique_ptr<Connection>& connection() noexcept { return connection_; }
  void orphan() noexcept;
  std::string peer_name() const;

 private:
  friend class Batch;
  Status bring_up();
  void bring_up_again() noexcept;
  bool over() const noexcept { return state_ == State::failed || state_ == State::closed; }
  void to_error() noexcept;
  void return_credits() noexcept;
  bool control(uint32_t add) noexcept;
  void become_ready() noexcept;
  void drop_ops(Code code) noexcept;
  void finish(Code code) noexcept;  // the oldest Op
  const char* refusal(const Transfer& transfer) const noexcept;
  const char* remote_refusal(const Transfer& transfer) const noexcept;
  const char* local_refusal(const LocalSlice& local) const noexcept;
  std::string ours() const;

  VerbsDomain* domain_;
  Queues* queues_;
  const uint64_t id_, cookie_;
  Owned<ibv_qp, ibv_destroy_qp> queue_pair_;
  ibv_qp_ex* extended_ = nullptr;
  Ticket mine_, theirs_;
  std::unique_ptr<Connection> connection_;  // by the connection manager
  State state_ = State::opened;
  std::string error_;
  bool hello_due_ = false, greeted_ = false, heard_ = false;

  std::unique_ptr<std::atomic<uint64_t>[]> counter_words_;
  SlabQueue<Op> ops_;
  uint32_t posted_ = 0, completed_ = 0;     // Ops so far
  uint32_t silent_ = 0;                     // since one that asked for a completion
  size_t held_ = 0;                         // transfers in ops_, and Dones that nobody took
  uint16_t controls_ = 0;                   // in ops_
  uint16_t unharvested_ = 0;                // signals of ours that the peer did not give credit for again
  uint16_t owed_ = 0;                       // signals of the peer's that we did not
  std::array<uint16_t, kCounters> gets_{};  // under way, of a counter
};

}  // namespace plait::transport::verbs
