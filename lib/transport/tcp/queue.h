// What endpoints hold between post() and the Done, and what connections hold between that and the kernel: out
// of pools of their domain, so nothing is allocated after open(), and an endpoint that moves nothing holds
// nothing.
#pragma once

#include <array>
#include <cstdint>

#include "base/slab.h"
#include "transport/tcp/frame.h"
#include "transport/transport.h"

namespace plait::transport::tcp {

constexpr size_t kDepth = 256;
constexpr size_t kInline = 256;
constexpr size_t kFrames = 128;  // of a connection, made and not yet sent
// What one call gives to the kernel: one full packet of segmentation offload (45 x 1448). Calls of 64 KiB and
// more take sometimes three times as long.
constexpr size_t kPacket = 65160;

// Where in a region of the target.
struct Place {
  uint32_t slot = 0;
  uint64_t nonce = 0, offset = 0;
};

// A transfer that post() took and that is not done.
struct Op {
  Op *newer = nullptr, *older = nullptr;  // of its endpoint
  Op* next = nullptr;                     // in the one queue of a connection that it is in, if any
  bool sent = false;                      // its last frame is
  Verb verb = Verb::put;
  When when = When::never;
  Signal signal;
  uint64_t cookie = 0;
  Place place;
  std::byte* local = nullptr;
  size_t bytes = 0, moved = 0;           // moved: put: into frames; get: received
  std::array<std::byte, kInline> small;  // a small source is read in post()
};

// The Ops of an endpoint, kDepth at most, out of the domain's pool.
class OpList {
 public:
  explicit OpList(Slab<Op>& slab) noexcept : slab_(slab) {}
  size_t used() const noexcept { return used_; }
  // Not when kDepth are used.
  Op& take() noexcept {
    Op& op = slab_.take();
    op.older = newest_;
    if (newest_ != nullptr) newest_->newer = &op;
    newest_ = &op;
    used_++;
    return op;
  }
  void give(Op& op) noexcept {
    (op.newer != nullptr ? op.newer->older : newest_) = op.older;
    if (op.older != nullptr) op.older->newer = op.newer;
    used_--;
    slab_.give(op);
  }
  // Null: there is none.
  Op* newest() noexcept { return newest_; }

 private:
  Slab<Op>& slab_;
  Op* newest_ = nullptr;
  size_t used_ = 0;
};

// Ops in the order in which they came. An Op is in one of these at a time.
class OpQueue {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  Op& front() noexcept { return *first_; }
  void push(Op& op) noexcept {
    op.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &op;
    last_ = &op;
  }
  void pop() noexcept { first_ = first_->next; }
  void clear() noexcept { first_ = nullptr; }

 private:
  Op *first_ = nullptr, *last_ = nullptr;
};

// A get of the peer's that is being answered.
struct Served {
  Served* next = nullptr;
  Place place;
  uint64_t left = 0;
};

// A frame on its way out: header and small payload as bytes, large payload where it lies.
struct OutFrame {
  OutFrame* next = nullptr;
  std::array<std::byte, sizeof(Header) + kInline> head;
  uint32_t head_bytes = 0, payload_bytes = 0;
  const std::byte* payload = nullptr;  // of the user; null with payload_bytes: at `place` of an own region
  Place place;
  Op* op = nullptr;    // whose last frame it is
  bool asked = false;  // for an acknowledgement
  size_t bytes() const noexcept { return size_t{head_bytes} + payload_bytes; }
};

struct DoneItem {
  DoneItem* next = nullptr;
  Done done;
};

// Of a domain: what all its endpoints hold together.
struct Pools {
  Slab<Op> ops;
  Slab<DoneItem> dones;
  Slab<OutFrame> frames;
  Slab<Served> served;
  // For one endpoint more: its Dones and one for its own, and what two connections hold.
  bool reserve() {
    return ops.reserve(kDepth) && dones.reserve(kDepth + 1) && frames.reserve(2 * kFrames) &&
           served.reserve(2 * kDepth);
  }
  void unreserve() noexcept {
    ops.unreserve(kDepth);
    dones.unreserve(kDepth + 1);
    frames.unreserve(2 * kFrames);
    served.unreserve(2 * kDepth);
  }
  void trim() noexcept {
    ops.trim();
    dones.trim();
    frames.trim();
    served.trim();
  }
};

}  // namespace plait::transport::tcp
