// What travels between processes as bytes before there are frames: tickets, keys and identities out of band,
// hellos as the first thing on each connection. No padding: every byte has a meaning, and is checked. Parsers
// are functions of the bytes alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/address.h"
#include "base/bytes.h"
#include "transport/keys.h"
#include "transport/tcp/tcp.h"

namespace plait::transport::tcp {

constexpr uint32_t kMagic = 0x50435450;  // "PTCP"
constexpr uint16_t kVersion = 1;
constexpr Maker kMaker{"tcp", "TCP", kMagic, kVersion};
constexpr uint16_t kCounters = 1024;

// The connections of an endpoint: one for what is small, up to four for bulk, and one that carries nothing.
constexpr size_t kBulkMost = 4;
enum class Lane : uint8_t { mailbox, bulk, pulse = 1 + kBulkMost };
constexpr size_t kLanes = 2 + kBulkMost;

struct Ticket {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint8_t address_count = 0;
  uint8_t bulk_lanes = 1;  // at most: the lesser one of both sides counts
  uint32_t counters = 0;
  uint32_t tls = 0;     // 1: connections run TLS
  uint64_t host = 0;    // who shares it shares loopback addresses
  uint64_t domain = 0;  // nonces
  uint64_t endpoint = 0;
  std::array<Token, kLanes> tokens{};
  std::array<Address, kAddresses> addresses{};
  uint64_t sum = 0;  // of all before it: finds damage; the tokens find forgers
};
static_assert(sizeof(Ticket) == 240);

using Key = RegionKey;

// What a domain tells of itself for reaches().
struct Identity {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint8_t families = 0;  // bits of Family
  uint8_t zero = 0;
  uint64_t host = 0;
};
static_assert(sizeof(Identity) == 16);
enum Family : uint8_t { kIp4 = 1, kIp6 = 2, kLoopback4 = 4, kLoopback6 = 8 };
uint8_t family_of(const Address& address) noexcept;

// hello: the dialer's. answer: the dialed one's, when it knows its peer's ticket. refusal: there is no such
// endpoint, or it is connected.
enum class HelloKind : uint8_t { hello = 1, answer = 2, refusal = 3 };

struct Hello {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint8_t kind = 0, lane = 0;
  uint64_t to = 0, from = 0;  // nonces of the two endpoints
  Token token{};              // the receiver's, of this lane
  uint32_t pid = 0, zero = 0;
  std::array<char, 64> host{};
};
static_assert(sizeof(Hello) == 112);

// Code::invalid for what is damaged or something else, Code::version for what another plait wrote.
Result<Ticket> parse_ticket(ByteView bytes);
inline Result<Key> parse_key(ByteView bytes) { return parse_region_key(bytes, kMaker); }
std::optional<Identity> parse_identity(ByteView bytes) noexcept;
std::optional<Hello> parse_hello(ByteView bytes) noexcept;

// "host node7, process 1234"
std::string sender_of(const Hello& hello);

}  // namespace plait::transport::tcp
