// The sending side of a channel: what is under way, in its order, and how it is given to the device: in
// chains, one doorbell each, with as few completions as will do.
#pragma once

#include <array>

#include "base/slab.h"
#include "rdma/queue_pair.h"

namespace plait::rdma {

// In the wr_id of a send: the channel's id, and 17 bits of its number, more than a queue holds.
constexpr uint32_t kSequenceBits = 17, kSequence = (1U << kSequenceBits) - 1;
constexpr uint16_t kFenced = 64;  // groups of counters, whose writes wait for their reads

// A work request under way.
struct Request {
  Request* next = nullptr;
  uint64_t cookie = 0;
  uint8_t opcode = IBV_WR_RDMA_WRITE;
  bool wanted = false;   // somebody wants to know when it is done
  bool control = false;  // a hello or credits: nobody's but the channel's
  uint8_t counter = 0;   // modulo kFenced
};

// What is to be sent. What acts on one counter acts there in its order.
struct Piece {
  ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;  // a write, with immediate data or without, or a read
  bool wanted = false, is_inline = false;
  uint16_t counter = 0;
  uint32_t immediate = 0;
  uint64_t cookie = 0;
  const void* local = nullptr;
  size_t bytes = 0;
  uint32_t local_key = 0, remote_key = 0;
  uint64_t remote = 0;
};

// What was given to a device so far: work requests, and calls that told it of them (doorbells).
struct Work {
  uint64_t requests = 0, doorbells = 0;
};

// Where work requests are made, by one sender at a time.
struct Chain {
  std::array<ibv_send_wr, 64> requests;
  std::array<ibv_sge, 64> parts;
  size_t count = 0;
  size_t bytes = 0;  // since one of them asked for a completion
  int unasked = -1;  // the last that somebody wants to know of and that asked for none
  int error = 0;
  Work work;
};

class Sender {
 public:
  // A completion is asked for of every so many requests at least, so that the queue empties.
  Sender(QueuePair& queue_pair, Slab<Request>& requests, Chain& chain, uint32_t signal_every) noexcept
      : queue_pair_(queue_pair), chain_(chain), signal_every_(signal_every), requests_(requests) {}
  void set_id(uint64_t id) noexcept { id_ = id; }

  void add(const Piece& piece) noexcept;
  void add_control(uint32_t immediate) noexcept;
  // Gives what was added to the device. 0, or an errno: the queue pair is of no use any more.
  int ring() noexcept;

  bool empty() const noexcept { return requests_.empty(); }
  Request& oldest() noexcept { return requests_.front(); }
  // The oldest one is done, or lost.
  Request take() noexcept;
  // How many are older than the one that completed.
  uint32_t before(const ibv_wc& completion) const noexcept {
    return (uint32_t(completion.wr_id) - completed_) & kSequence;
  }

 private:
  ibv_send_wr& begin(ibv_wr_opcode opcode) noexcept;
  void attach(ibv_send_wr& request, const Piece& piece) noexcept;
  void ask(ibv_send_wr& request, bool wanted, size_t bytes) noexcept;
  void flush() noexcept;

  QueuePair& queue_pair_;
  Chain& chain_;
  const uint32_t signal_every_;
  uint64_t id_ = 0;
  SlabQueue<Request> requests_;
  uint32_t posted_ = 0, completed_ = 0;
  uint32_t silent_ = 0;                    // since one that asked for a completion
  std::array<uint16_t, kFenced> reads_{};  // under way, of counters
};

}  // namespace plait::rdma
