// One rail to one peer: a Unix socket that says who it is and when it dies, and blocks of shared memory for
// all else. endpoint.cc: its life; handshake.cc: connecting; post.cc: moving bytes.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "transport/shm/peer.h"
#include "transport/shm/queue.h"
#include "transport/shm/region.h"

namespace plait::transport::shm {

class ShmDomain;

// A hello that came in: what the other side says, who it is, and what it sent along.
struct Greeting {
  Fd socket;
  Hello hello;
  Credentials who;
  Fd arena, event;
};

class ShmEndpoint final : public Endpoint {
 public:
  ShmEndpoint(ShmDomain& domain, uint64_t id, const Ticket& ticket, Control* control, uint16_t counters,
              uint64_t cookie);
  ~ShmEndpoint() override;

  ByteView ticket() const noexcept override { return bytes_of(ticket_); }
  Status connect(ByteView peer_ticket) noexcept override;
  State state() const noexcept override { return state_; }
  std::string_view error() const noexcept override { return error_; }
  Result<std::unique_ptr<RemoteRegion>> import(ByteView key) override;
  size_t post(std::span<const Transfer> transfers) noexcept override;
  bool sent(uint16_t counter) const noexcept override;
  void close() noexcept override;

  // What the domain calls.
  uint64_t id() const noexcept { return id_; }
  uint64_t nonce() const noexcept { return ticket_.endpoint; }
  uint16_t counter_count() const noexcept { return counter_count_; }
  bool dialing() const noexcept { return state_ == State::connecting && dials_ && !socket_; }
  void dial() noexcept;                      // once more
  void greeted(Greeting greeting) noexcept;  // its peer dialed, maybe before connect()
  void readable() noexcept;                  // its socket is
  void lost() noexcept;                      // the process of its peer died
  size_t progress(size_t budget) noexcept;   // what is left of `budget`, in bytes
  size_t harvest(std::span<Done> done) noexcept { return dones_.take(done); }
  bool busy() const noexcept { return !ops_.empty() || !dones_.empty(); }
  const std::shared_ptr<Peer>& peer() const noexcept { return peer_; }
  // The domain goes: no call of it may follow.
  void orphan() noexcept;
  // The endpoint goes: moves the Dones of its transfers (its own cookie means nothing any more).
  void leave_dones(OrphanedDones& to) noexcept { to.adopt(dones_); }
  bool listed = false;  // among the domain's busy ones

 private:
  // handshake.cc
  Status begin(const Ticket& peer_ticket);
  Status begin_self();
  void look_out() noexcept;
  void refused(int error) noexcept;
  Status say_hello(int socket);
  Status accept(Greeting greeting);
  Status adopt(Greeting& greeting);
  void answered() noexcept;

  // post.cc
  const char* refusal(const Transfer& transfer) const noexcept;
  bool act_now(const Transfer& transfer) noexcept;
  void enqueue(const Transfer& transfer) noexcept;
  bool move_piece(Op& op, size_t bytes) noexcept;
  bool put_piece(const Op& op, size_t bytes) noexcept;
  bool get_piece(const Op& op, size_t bytes) noexcept;
  bool short_count(ssize_t moved, size_t bytes, uint64_t address) noexcept;
  bool begin_write() noexcept;
  void end_write() noexcept { theirs_->writing.store(0, std::memory_order_release); }
  void signal(const Signal& signal) noexcept;
  void complete(const Transfer& transfer, Code code) noexcept;

  void wake() noexcept override;
  void fail(Code code, std::string text) noexcept;
  void fail(const Status& status) noexcept { fail(status.code(), std::string(status.text())); }
  void drop_ops(Code code) noexcept;
  void set_state(State state) noexcept;
  void wait_out_writer() noexcept;
  void hang_up() noexcept;

  ShmDomain* domain_;
  Process& process_;
  const uint64_t id_, cookie_;
  const uint16_t counter_count_;
  const Ticket ticket_;
  Ticket peer_ticket_;
  State state_ = State::opened;
  bool dials_ = false, self_ = false, peer_dead_ = false;
  std::string error_;

  Control* const control_;     // the peer writes to it
  Control* theirs_ = nullptr;  // this endpoint writes to it
  uint16_t their_counters_ = 0;
  uint64_t link_ = 0;  // of the process's ledger, once the peer may touch control_
  std::shared_ptr<Peer> peer_;
  Fd socket_;
  std::unique_ptr<Greeting> early_;  // came before connect()

  std::array<uint64_t, kCounters> sent_{};  // sums of adds, as the peer's counters hold them
  SlabQueue<Op> ops_;
  OwnedDones dones_;
};

}  // namespace plait::transport::shm
