// One reliable connected queue pair and its peer's, and what passes between them beside bytes: hellos, by
// which both know that they can be heard; signals, which move a counter at the other side, behind the bytes
// that were written before on it; and credits, so that there is a receive for each signal. channel.cc: its
// life; channel_connect.cc: how it gets connected.
#pragma once

#include <memory>
#include <string>

#include "rdma/manager.h"
#include "rdma/queues.h"
#include "rdma/sender.h"
#include "rdma/station.h"

namespace plait::rdma {

class Hub;

constexpr uint16_t kControls = 8;  // hellos and credits of a channel that may be under way, each way

// Owned by whoever derives from it, whose destructor begins with leave(). Threads: as its hub.
class Channel {
 public:
  enum class Phase : uint8_t { opened, connecting, ready, failed, closed };
  Phase phase() const noexcept { return phase_; }
  const std::string& error() const noexcept { return error_; }  // what it failed for
  std::string peer_name() const;
  void fail(Code code, std::string why) noexcept;
  void force_error() noexcept;  // for tests: as if the device had found one

  // What the hub calls.
  uint64_t id() const noexcept { return id_; }
  uint32_t number() const noexcept { return mine_.queue_pair; }  // of the queue pair; 0: none
  void greet() noexcept;
  void sent(const ibv_wc& completion) noexcept;
  void received(const ibv_wc& completion, const Immediate& what) noexcept;
  void misdirected() noexcept;
  void connected(const Status& status) noexcept;  // the queue pair can send now, or cannot
  void orphan() noexcept;                         // the hub goes

 protected:
  explicit Channel(Hub& hub) noexcept;
  virtual ~Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // A place in the hub and a queue pair, which station() names then. Code::memory: the hub is full;
  // Code::system.
  Status open();
  // Begins to connect. The queue pair receives when this returns; the phase says when the peer is known to.
  Status connect(const Station& peer);
  // Takes what goes to the peer; nothing moves before ring(). A signal (`add` to `counter`) takes a credit.
  bool has_credit() const noexcept { return unharvested_ < theirs_.signals; }
  void add(Piece& piece, uint16_t add) noexcept;
  void ring() noexcept;
  // Nothing of it moves any more when this returns, and nothing comes.
  void close() noexcept;
  void leave() noexcept;

  const Station& station() const noexcept { return mine_; }
  const Station& peer() const noexcept { return theirs_; }
  Hub* hub() const noexcept { return hub_; }  // null: it is gone
  std::string ours() const;                   // begins sentences

  // What becomes of things. A request that was added is done, or lost; in order.
  virtual void done(const Request& request, Code code) noexcept = 0;
  // False: there is no such counter.
  virtual bool signalled(uint32_t counter, uint16_t add) noexcept = 0;
  virtual void failed(Code code) noexcept = 0;

 private:
  Status connect_by_manager();
  Path path() const noexcept;
  void bring_up_again() noexcept;
  void disconnect() noexcept;
  void become_ready() noexcept;
  bool over() const noexcept { return phase_ == Phase::failed || phase_ == Phase::closed; }
  void return_credits() noexcept;
  bool control(uint32_t add) noexcept;
  void finish(Code code) noexcept;  // the oldest request
  void drop_requests(Code code) noexcept;

  Hub* hub_;
  Queues* queues_ = nullptr;
  uint64_t id_ = 0;
  QueuePair queue_pair_;
  Station mine_, theirs_;
  std::unique_ptr<Connection> connection_;  // null: by tickets
  Phase phase_ = Phase::opened;
  std::string error_;
  bool hello_due_ = false, greeted_ = false, heard_ = false;
  Sender sender_;
  uint16_t controls_ = 0;     // under way
  uint16_t unharvested_ = 0;  // signals of ours that the peer did not give credit for again
  uint16_t owed_ = 0;         // signals of the peer's that we did not
};

}  // namespace plait::rdma
