// One rail to one peer: a reliable connected queue pair. connect.cc: how it gets connected; endpoint.cc: its
// life; post.cc: taking transfers.
#pragma once

#include <memory>
#include <string>

#include "base/slab.h"
#include "rdma/manager.h"
#include "rdma/queues.h"
#include "transport/verbs/region.h"

namespace plait::transport::verbs {

class VerbsDomain;

// In the wr_id of a send: the endpoint's id, and 17 bits of its number, more than a queue holds.
constexpr uint32_t kSequenceBits = 17, kSequence = (1U << kSequenceBits) - 1;
constexpr size_t kControls = 8;  // hellos and credits of an endpoint that may be under way, each way

constexpr uint16_t kFenced = 64;  // groups of counters, whose puts wait for their gets

// A work request under way.
struct Op {
  Op* next = nullptr;
  uint64_t cookie = 0;
  When when = When::never;
  uint8_t opcode = IBV_WR_RDMA_WRITE;
  bool control = false;  // a hello or credits: no transfer
  uint8_t counter = 0;   // modulo kFenced
};

struct DoneItem {
  DoneItem* next = nullptr;
  Done done;
  uint64_t endpoint = 0;
  bool own = false;  // the endpoint's cookie
};

class VerbsEndpoint final : public Endpoint {
 public:
  VerbsEndpoint(VerbsDomain& domain, rdma::Queues& queues, uint64_t id, uint16_t counters, uint64_t cookie);
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
  void greet() noexcept;
  void sent(const ibv_wc& completion) noexcept;
  void received(const ibv_wc& completion, const Immediate& what) noexcept;
  void misdirected() noexcept;
  void taken() noexcept { --held_; }  // a Done of it was
  void fail(Code code, std::string why) noexcept;
  void force_error() noexcept;
  void connected(const Status& status) noexcept;  // the queue pair can send now, or cannot
  void orphan() noexcept;
  std::string peer_name() const;

 private:
  friend class Batch;
  rdma::Path path() const noexcept;
  Status connect_by_manager();
  void bring_up_again() noexcept;
  void disconnect() noexcept;
  void become_ready() noexcept;
  bool over() const noexcept { return state_ == State::failed || state_ == State::closed; }
  void return_credits() noexcept;
  bool control(uint32_t add) noexcept;
  void drop_ops(Code code) noexcept;
  void finish(Code code) noexcept;  // the oldest Op
  const char* refusal(const Transfer& transfer) const noexcept;
  std::string ours() const;

  VerbsDomain* domain_;
  rdma::Queues* queues_;
  const uint64_t id_, cookie_;
  rdma::QueuePair queue_pair_;
  Ticket mine_, theirs_;
  std::unique_ptr<rdma::Connection> connection_;  // null: by tickets
  State state_ = State::opened;
  std::string error_;
  bool hello_due_ = false, greeted_ = false, heard_ = false;

  std::unique_ptr<std::atomic<uint64_t>[]> counter_words_;
  SlabQueue<Op> ops_;
  uint32_t posted_ = 0, completed_ = 0;   // Ops so far
  uint32_t silent_ = 0;                   // since one that asked for a completion
  size_t held_ = 0;                       // transfers in ops_, and Dones that nobody took
  uint16_t controls_ = 0;                 // in ops_
  uint16_t unharvested_ = 0;              // signals of ours that the peer did not give credit for again
  uint16_t owed_ = 0;                     // signals of the peer's that we did not
  std::array<uint16_t, kFenced> gets_{};  // under way, of counters
};

}  // namespace plait::transport::verbs
