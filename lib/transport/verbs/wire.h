// What travels between processes as bytes: tickets and keys out of band, and 32 bits with each signal. No
// padding: every byte has a meaning, and is checked. Parsers are functions of the bytes alone.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "rdma/gid.h"
#include "transport/keys.h"
#include "transport/transport.h"

namespace plait::transport::verbs {

constexpr uint32_t kMagic = 0x42525650;  // "PVRB"
constexpr uint16_t kVersion = 1;
constexpr Maker kMaker{"verbs", "verbs", kMagic, kVersion};

// A signal: 22 bits say which counter of the target's domain moves, 10 by how much. An endpoint has 1024 of
// these numbers (rails use a counter for each part under way); the first is its own: it returns credits, and
// 0 of them is a hello.
constexpr uint32_t kIndexBits = 22, kAddBits = 10, kNumbersBits = 10;
constexpr uint16_t kCounters = (1U << kNumbersBits) - 1, kMaxAdd = (1U << kAddBits) - 1;
constexpr uint32_t kSlots = 1U << (kIndexBits - kNumbersBits);  // endpoints of a domain
struct Immediate {
  uint32_t slot = 0, number = 0, add = 0;  // number 0: credits; else counter number - 1
};
constexpr uint32_t pack(const Immediate& i) noexcept {
  return ((i.slot << kNumbersBits | i.number) << kAddBits) | i.add;
}
constexpr Immediate unpack(uint32_t bits) noexcept {
  return {bits >> (kAddBits + kNumbersBits), bits >> kAddBits & ((1U << kNumbersBits) - 1), bits & kMaxAdd};
}

using rdma::Gid;
using rdma::is_ip4;
using rdma::Link;
using rdma::to_string;

struct Ticket {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  Link link{};
  uint8_t mtu = 0;  // enum ibv_mtu
  Gid gid{};
  uint32_t queue_pair = 0, packet = 0;  // 24 bits each: number, and that of the first packet
  uint32_t slot = 0;
  uint16_t lid = 0, counters = 0, signals = 0;
  uint16_t cm_port = 0;         // 0: connect by tickets
  uint8_t reads = 0, zero = 0;  // gets that may be under way at it
  uint16_t zero2 = 0;
  uint64_t domain = 0, endpoint = 0;  // nonces
  uint64_t sum = 0;
};
static_assert(sizeof(Ticket) == 72);

struct Key {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint8_t access = 0, zero = 0;
  uint64_t owner = 0;  // nonce of the domain
  uint64_t nonce = 0;
  uint64_t address = 0, bytes = 0;
  uint32_t remote_key = 0, zero2 = 0;
  uint64_t sum = 0;
};
static_assert(sizeof(Key) == 56);

// For reaches(): same link and same family of addresses.
struct Identity {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  Link link{};
  uint8_t family = 0;   // 4, 6; InfiniBand: 0
  uint64_t subnet = 0;  // InfiniBand: prefix
};
static_assert(sizeof(Identity) == 16);

// Code::invalid for what is damaged or something else, Code::version for what another plait wrote.
Result<Ticket> parse_ticket(ByteView bytes);
Result<Key> parse_key(ByteView bytes);
std::optional<Identity> parse_identity(ByteView bytes) noexcept;

}  // namespace plait::transport::verbs
