// One direction between two devices, as NCCL uses it: a send comm or a receive comm.
//
// Threads: one at a time, as NCCL does, but for expose(), which any may call meanwhile. Nothing here takes a
// lock or allocates, but for errors.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>

#include "abi.h"
#include "base/clock.h"
#include "connection.h"
#include "memory.h"
#include "transport/message_pool.h"

namespace plait::nccl {

class Comm;
constexpr int kMostReceives = int(transport::kMessageTogether);  // of a grouped receive

// What isend, irecv and iflush give.
struct Request {
  Comm* comm = nullptr;
  transport::MessageRequest* message = nullptr;
  std::array<Memory*, transport::kMessageTogether> memories{};  // that it holds
};

// A buffer of a request.
struct Piece {
  void* data = nullptr;
  size_t bytes = 0;
  int tag = 0;
  Memory* memory = nullptr;
};

class Comm {
 public:
  // `device`: what errors call this side.
  Comm(std::unique_ptr<Connection> connection, std::string device, bool sends);
  ~Comm();
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  // Ok with `request` null: no room now, ask again.
  Status send(const Piece& piece, Request*& request) noexcept;
  Status receive(std::span<const Piece> pieces, Request*& request) noexcept;
  // `sizes` may be null, else it has room for all of a request's pieces. A request that is done is gone.
  Status test(Request& request, bool& done, int* sizes) noexcept;
  // Moves what is under way.
  void nudge() noexcept { (void)poll(); }

  // Any thread.
  Result<std::unique_ptr<transport::Region>> expose(const transport::Memory& memory) {
    return wire_->domain().expose(memory, sends_ ? transport::Access::none : transport::Access::write);
  }
  bool sends() const noexcept { return sends_; }
  // Of requests that were done, and well.
  uint64_t messages() const noexcept { return messages_; }
  uint64_t bytes() const noexcept { return bytes_; }
  const std::string& name() const noexcept { return name_; }

  // What was done is on its way though it was closed at once: true while the comm is to be kept, and polled
  // by linger(), until the peer has it. No buffer of the caller's is touched any more.
  bool close() noexcept;
  bool linger() noexcept;

 private:
  static constexpr uint32_t kRequests = uint32_t(max_requests) * transport::kMessageTogether;
  static constexpr int64_t kLingerMs = 5000;
  static constexpr uint32_t kLookEvery = 4096;  // polls, for fabrics that cannot tell of deaths

  bool poll() noexcept;
  void lose(std::string_view why) noexcept;
  Status judge() const;
  Status slice(const Piece& piece, transport::LocalSlice& slice) const noexcept;
  Request& take(transport::MessageRequest* message, std::span<const Piece> pieces) noexcept;
  void give(Request& request) noexcept;
  void mark_end() noexcept;

  std::unique_ptr<Connection> pulse_;  // null where the fabric tells of deaths
  std::unique_ptr<Wire> wire_;
  transport::MessageLink& link_;
  const std::string name_;  // "tcp:eth0 to b, process 4711, tcp:eth0"
  const bool sends_;
  std::array<Request, kRequests> requests_;
  transport::IndexPool<kRequests> free_;
  uint64_t messages_ = 0, bytes_ = 0;
  Status lost_;  // why the peer is gone
  uint32_t polls_ = 0;
  // Lingering: transfers that were posted behind all others, and that the peer has.
  Deadline linger_until_;
  uint32_t marks_posted_ = 0, marks_done_ = 0;
};

}  // namespace plait::nccl
