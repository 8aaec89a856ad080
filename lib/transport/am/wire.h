// What endpoints whose puts and gets are messages write to each other: tickets and identities out of band,
// then messages, each a header and what it says follows. No padding: every byte has a meaning, and is
// checked. Parsers are functions of the bytes alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "transport/transfers.h"

namespace plait::transport::am {

constexpr uint16_t kCounters = 1024;  // rails use one for each part under way
constexpr size_t kAddressMost = size_t{16} << 10;

// A ticket is this and then an address, which only the fabric understands.
struct TicketHead {
  uint32_t magic = 0;  // of the Maker, as its version is
  uint16_t version = 0;
  uint16_t zero = 0;
  uint32_t counters = 0, pid = 0;
  uint32_t address_bytes = 0, zero2 = 0;
  uint64_t domain = 0;    // nonces
  uint64_t endpoint = 0;  // in every message to it: who knows it has the ticket
  std::array<char, 64> host{};
  uint64_t sum = 0;  // of all else, the address too: finds damage
};
static_assert(sizeof(TicketHead) == 112);

struct Ticket {
  TicketHead head;
  Bytes address;
};
Bytes to_bytes(Ticket ticket);  // with the address's length and the sum
// Code::invalid for what is damaged or something else, Code::version for what another plait wrote.
Result<Ticket> parse_ticket(ByteView bytes, const Maker& maker);

// What a domain tells of itself for reaches().
struct Identity {
  uint32_t magic = 0;
  uint16_t version = 0;
  uint8_t use = 0, zero = 0;  // use and protocol are the fabric's
  uint32_t protocol = 0, zero2 = 0;
  uint64_t host = 0;
};
static_assert(sizeof(Identity) == 24);
std::optional<Identity> parse_identity(ByteView bytes, const Maker& maker) noexcept;

enum class Kind : uint8_t {
  hello = 'H',    // value: the sender's nonce
  put = 'P',      // bytes for a region, and with the last of a transfer its signal
  get = 'G',      // asks for bytes of a region
  data = 'D',     // bytes that answer the oldest get that was not answered whole, and then kIntact
  ack = 'A',      // puts that asked for it have landed, so many since the start
  error = 'E',    // why the endpoint failed; the last message
  goodbye = 'B',  // the endpoint was closed; the last message
};

enum Flags : uint8_t {
  kLast = 1,   // put, data: of its transfer
  kAsked = 2,  // put: acknowledge it
};

// Follows the bytes of `data`, written when they have been: else their region was taken back meanwhile.
constexpr uint64_t kIntact = 0x746361746e692121;

struct Header {
  uint8_t kind = 0, flags = 0;
  uint16_t counter = 0, add = 0, zero = 0;
  uint32_t number = 0;  // of put, get, data and ack: they count up, from 0
  uint32_t slot = 0;    // of the region
  uint64_t to = 0;      // nonce of the endpoint
  uint64_t nonce = 0;   // of the region
  uint64_t offset = 0;  // in it
  uint64_t value = 0;   // hello: a nonce; get: bytes wanted; ack: count; error: a Refusal
};
static_assert(sizeof(Header) == 48);

constexpr bool counted(Kind kind) noexcept {
  return kind == Kind::put || kind == Kind::get || kind == Kind::data || kind == Kind::ack;
}

// A header whose fields fit its kind and the `length` bytes behind it; nothing for all others. What depends
// on the receiver's state (endpoint, number, region, rights, bounds, counters) is the receiver's to check.
std::optional<Header> parse_header(ByteView bytes, size_t length) noexcept;

}  // namespace plait::transport::am
