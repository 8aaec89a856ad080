// What travels between processes as bytes, out of band: the driver's tickets and keys with what makes them
// ours. No padding: every byte has a meaning, and is checked. Parsers are functions of the bytes alone.
#pragma once

#include <array>
#include <optional>

#include "drivers/icl/icl.h"
#include "transport/keys.h"
#include "transport/transport.h"

namespace plait::transport::icl {

constexpr uint32_t kMagic = 0x4c434950;  // "PICL"
constexpr uint16_t kVersion = 1;
constexpr Maker kMaker{"icl", "inter-chip links", kMagic, kVersion};
constexpr uint16_t kCounters = 1024;

using DriverKey = std::array<std::byte, ICL_KEY_BYTES>;

struct Ticket {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint16_t counters = 0;
  std::array<std::byte, ICL_TICKET_BYTES> queue{};
  DriverKey words{};    // of its counters; zeros: it has none
  uint64_t domain = 0;  // a nonce
  uint64_t sum = 0;
};
static_assert(sizeof(Ticket) == 96);

struct Key {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint8_t access = 0, zero = 0;
  DriverKey memory{};
  uint64_t owner = 0;  // nonce of the domain
  uint64_t sum = 0;
};
static_assert(sizeof(Key) == 64);

// For reaches(): chips of one pod.
struct Identity {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint16_t zero = 0;
  uint64_t pod = 0;
};
static_assert(sizeof(Identity) == 16);

// Code::invalid for what is damaged or something else, Code::version for what another plait wrote.
Result<Ticket> parse_ticket(ByteView bytes);
Result<Key> parse_key(ByteView bytes);
std::optional<Identity> parse_identity(ByteView bytes) noexcept;

// Of what was parsed.
uint32_t chip_of(const Ticket& ticket) noexcept;
uint64_t bytes_of_memory(const Key& key) noexcept;
uint32_t rights_of(Access access) noexcept;

}  // namespace plait::transport::icl
