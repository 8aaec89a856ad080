// The operations that sum tensors: some under way on a communicator of their own, in the order in which they
// were started, with the buffers in which small tensors are fused.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "runtime/communicator.h"
#include "runtime/queue/line.h"
#include "runtime/queue/ticket.h"

namespace plait::runtime::queue {

class Wire {
 public:
  // At a time: one that runs and one behind it, so that the communicator never waits for the queue.
  static constexpr size_t kOperations = 2;

  // fuse_most: bytes that a fused operation may have.
  Wire(Communicator& comm, uint64_t fuse_most, std::string algorithm, int64_t timeout_ms)
      : comm_(comm), fuse_most_(fuse_most), algorithm_(std::move(algorithm)), timeout_ms_(timeout_ms) {}
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  // Code::unsupported: there is no such algorithm.
  Status open();
  Communicator& comm() const noexcept { return comm_; }

  size_t under_way() const noexcept { return count_; }
  bool full() const noexcept { return count_ == kOperations; }
  // Not when full(). The tickets are of work.tensors tensors, in order.
  Status start(const Work& work, std::span<Ticket* const> tickets, int64_t now);
  // Moves on. The oldest operation when it is done, with what was fused back where it belongs, until
  // end_oldest(); null: none is.
  struct Operation {
    plait_request* request = nullptr;
    std::vector<Ticket*> tickets;
    std::byte* fused = nullptr;
    uint64_t count = 0;
    const Status& result() const noexcept { return request->result; }
  };
  Operation* done() noexcept;
  void end_oldest() noexcept;
  void check() noexcept { comm_.check(count_ > 0 ? oldest().request : nullptr); }

 private:
  Operation& oldest() noexcept { return operations_[first_ % kOperations]; }
  Result<std::byte*> buffer(size_t slot);

  Communicator& comm_;
  const uint64_t fuse_most_;
  const std::string algorithm_;
  std::string_view method_;  // the communicator's name of it
  const int64_t timeout_ms_;
  std::array<Operation, kOperations> operations_;
  std::array<std::byte*, kOperations> buffers_{};  // made when they are first needed
  size_t first_ = 0, count_ = 0;
};

}  // namespace plait::runtime::queue
