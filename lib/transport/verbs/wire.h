// What travels between processes as bytes, out of band: tickets, keys and identities. No padding: every byte
// has a meaning, and is checked. Parsers are functions of the bytes alone.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "rdma/station.h"
#include "transport/keys.h"
#include "transport/transport.h"

namespace plait::transport::verbs {

constexpr uint32_t kMagic = 0x42525650;  // "PVRB"
constexpr uint16_t kVersion = 2;
constexpr Maker kMaker{"verbs", "verbs", kMagic, kVersion};

struct Ticket {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint16_t counters = 0;
  rdma::Station station;
  uint64_t domain = 0;  // a nonce
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
  rdma::Link link{};
  uint8_t family = 0;   // 4, 6; InfiniBand: 0
  uint64_t subnet = 0;  // InfiniBand: prefix
};
static_assert(sizeof(Identity) == 16);

// Code::invalid for what is damaged or something else, Code::version for what another plait wrote.
Result<Ticket> parse_ticket(ByteView bytes);
Result<Key> parse_key(ByteView bytes);
std::optional<Identity> parse_identity(ByteView bytes) noexcept;

}  // namespace plait::transport::verbs
