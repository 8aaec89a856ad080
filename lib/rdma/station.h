// What a queue pair's peer must know to be connected to it, and what the 32 bits say that go with a signal.
// No padding: every byte has a meaning, and is checked.
#pragma once

#include "rdma/channel_options.h"
#include "rdma/gid.h"
#include "rdma/queue_pair.h"

namespace plait::rdma {

// A signal: 22 bits say which counter of the target's hub moves, 10 by how much. A channel has 1024 of these
// numbers; the first is its own: it returns credits, and 0 of them is a hello.
constexpr uint32_t kIndexBits = 22, kAddBits = 10, kNumbersBits = 10;
constexpr uint16_t kCounters = (1U << kNumbersBits) - 1, kMaxAdd = (1U << kAddBits) - 1;
constexpr uint32_t kSlots = 1U << (kIndexBits - kNumbersBits);  // channels of a hub
struct Immediate {
  uint32_t slot = 0, number = 0, add = 0;  // number 0: credits; else counter number - 1
};
constexpr uint32_t pack(const Immediate& i) noexcept {
  return ((i.slot << kNumbersBits | i.number) << kAddBits) | i.add;
}
constexpr Immediate unpack(uint32_t bits) noexcept {
  return {bits >> (kAddBits + kNumbersBits), bits >> kAddBits & ((1U << kNumbersBits) - 1), bits & kMaxAdd};
}

struct Station {
  Link link{};
  uint8_t mtu = 0;  // enum ibv_mtu
  uint16_t lid = 0;
  uint32_t queue_pair = 0, packet = 0;  // 24 bits each: number, and that of the first packet
  uint32_t slot = 0;
  uint16_t signals = 0;
  uint16_t cm_port = 0;  // 0: connect by tickets
  uint8_t reads = 0;     // that may be under way at it
  uint8_t zero = 0;
  uint16_t zero2 = 0;
  Gid gid{};
  uint64_t nonce = 0;
};
static_assert(sizeof(Station) == 48);

// Whether it can be one, and can be connected to.
bool makes_sense(const Station& station) noexcept;
// Why these two cannot be connected; null: they can.
const char* mismatch(const Station& mine, const Station& theirs) noexcept;
// From mine to theirs, over a port of mine. `greeted`: the peer's first packet came before, and is not
// expected again.
Path path_between(const Station& mine, const Station& theirs, const ChannelOptions& options, uint8_t port,
                  uint8_t gid_index, bool greeted) noexcept;

}  // namespace plait::rdma
