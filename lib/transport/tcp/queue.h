// What connections hold between post() and the kernel: out of pools of their domain, so nothing is allocated
// after open(), and an endpoint that moves nothing holds nothing.
#pragma once

#include <array>
#include <cstdint>

#include "base/slab.h"
#include "transport/tcp/frame.h"
#include "transport/transfers.h"

namespace plait::transport::tcp {

constexpr size_t kFrames = 128;  // of a connection, made and not yet sent
// A full packet of segmentation offload (45 x 1448). Calls give the kernel whole ones: what is behind the
// last one travels as a packet of its own.
constexpr size_t kPacket = 65160;
// At most. Of four with a call each takes now as long, now a fifth longer; of eight a third, by bare sockets.
constexpr size_t kCallPackets = 2;
// What is left behind them goes with them if it is no longer than this: a call less.
constexpr size_t kRunt = 4096;

// A frame on its way out: header and small payload as bytes, large payload where it lies.
struct OutFrame {
  OutFrame* next = nullptr;
  std::array<std::byte, sizeof(Header) + kInline> head;
  uint32_t head_bytes = 0, payload_bytes = 0;
  const std::byte* payload = nullptr;  // of the user; null with payload_bytes: at `place` of an own region
  Place place;
  Op* op = nullptr;    // whose last frame it is
  bool asked = false;  // for an acknowledgement
  bool ack = false;    // is one
  size_t bytes() const noexcept { return size_t{head_bytes} + payload_bytes; }
};

// Of a domain: what all its endpoints hold together.
struct Pools {
  Slab<Op> ops;
  Slab<DoneItem> dones;
  Slab<OutFrame> frames;
  Slab<Served> served;
  // For one endpoint more: its Dones and one for its own, and what its connections hold.
  bool reserve(size_t connections) {
    return ops.reserve(kDepth) && dones.reserve(kDepth + 1) && frames.reserve(connections * kFrames) &&
           served.reserve(connections * kDepth);
  }
  void unreserve(size_t connections) noexcept {
    ops.unreserve(kDepth);
    dones.unreserve(kDepth + 1);
    frames.unreserve(connections * kFrames);
    served.unreserve(connections * kDepth);
  }
  void trim() noexcept {
    ops.trim();
    dones.trim();
    frames.trim();
    served.trim();
  }
};

}  // namespace plait::transport::tcp
