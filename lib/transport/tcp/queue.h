// What an endpoint holds between post() and the Done, and what a connection holds between that and the
// kernel: fixed in size, so nothing is allocated after open().
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/ring.h"
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
  bool used = false;
  bool sent = false;  // its last frame is
  Verb verb = Verb::put;
  When when = When::never;
  Signal signal;
  uint64_t cookie = 0;
  Place place;
  std::byte* local = nullptr;
  size_t bytes = 0, moved = 0;           // moved: put: into frames; get: received
  std::array<std::byte, kInline> small;  // a small source is read in post()
};

// The Ops of an endpoint.
class OpPool {
 public:
  OpPool() : ops_(std::make_unique<Op[]>(kDepth)) {
    for (size_t i = kDepth; i-- > 0;) free_[kDepth - 1 - i] = uint16_t(i);
  }
  size_t used() const noexcept { return used_; }
  // Not when kDepth are used.
  Op& take() noexcept {
    Op& op = ops_[free_[kDepth - ++used_]];
    op.used = true;
    op.sent = false;
    op.moved = 0;
    return op;
  }
  void give(Op& op) noexcept {
    op.used = false;
    free_[kDepth - used_--] = uint16_t(&op - ops_.get());
  }
  // Each of those in use, which each may give back.
  template <class Each>
  void for_each(Each each) noexcept {
    for (size_t i = 0; i < kDepth && used_ != 0; ++i) {
      if (ops_[i].used) each(ops_[i]);
    }
  }

 private:
  std::unique_ptr<Op[]> ops_;
  std::array<uint16_t, kDepth> free_{};  // the first kDepth - used_ of it
  size_t used_ = 0;
};

// A get of the peer's that is being answered.
struct Served {
  Place place;
  uint64_t left = 0;
};

// A frame on its way out: header and small payload as bytes, large payload where it lies.
struct OutFrame {
  std::array<std::byte, sizeof(Header) + kInline> head;
  uint32_t head_bytes = 0, payload_bytes = 0;
  const std::byte* payload = nullptr;  // of the user; null with payload_bytes: at `place` of an own region
  Place place;
  Op* op = nullptr;    // whose last frame it is
  bool asked = false;  // for an acknowledgement
  size_t bytes() const noexcept { return size_t{head_bytes} + payload_bytes; }
};

}  // namespace plait::transport::tcp
