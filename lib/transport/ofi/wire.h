// What travels between processes as bytes: tickets, keys and identities out of band, hellos and messages
// through the provider. No padding: every byte has a meaning, and is checked. Parsers are functions of the
// bytes alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "transport/keys.h"
#include "transport/ofi/ofi.h"

namespace plait::transport::ofi {

constexpr uint32_t kMagic = 0x49464f50;  // "POFI"
constexpr uint16_t kVersion = 1;
constexpr uint16_t kCounters = 64;
constexpr uint64_t kMaxTransfer = uint64_t{1} << 30;

struct Ticket {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint8_t mode = 0, address_bytes = 0;
  uint16_t counters = 0;
  uint16_t stamp = 0;     // direct: of the first signal that the bearer gets
  uint32_t protocol = 0;  // both sides' alike
  uint64_t domain = 0;    // nonces
  uint64_t endpoint = 0;
  Token token{};                      // who shows it has read this ticket
  uint64_t bells = 0, bells_key = 0;  // direct: the bearer's ring of bells
  std::array<std::byte, 128> address{};
  uint64_t sum = 0;
};
static_assert(sizeof(Ticket) == 200);

struct Key {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint8_t access = 0, zero = 0;
  uint64_t owner = 0;  // nonce of the domain
  uint64_t nonce = 0;
  uint64_t bytes = 0;
  uint64_t base = 0;  // direct: what the provider calls the first byte, and
  uint64_t key = 0;   // its key
  uint32_t slot = 0, zero2 = 0;
  uint64_t sum = 0;
};
static_assert(sizeof(Key) == 64);

struct Identity {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint8_t mode = 0, zero = 0;
  uint32_t protocol = 0, zero2 = 0;
  uint64_t host = 0;  // reached from there only; 0: from everywhere
};
static_assert(sizeof(Identity) == 24);

struct Hello {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint16_t zero = 0;
  uint64_t to = 0, from = 0;  // nonces of the two endpoints
  Token token{};              // the receiver's
};
static_assert(sizeof(Hello) == 40);

// ack: so many puts that asked for it have landed by now (value). refuse: value says why. data: what a get
// wanted next.
enum class Kind : uint8_t { put = 1, get, data, ack, refuse };
enum class Refusal : uint8_t { region = 1, bounds, rights, counter, order };
const char* describe(uint64_t refusal) noexcept;

struct Header {
  Kind kind = Kind::put;
  uint8_t wants_ack = 0;  // puts: with their last piece
  uint16_t counter = 0, add = 0;
  uint16_t zero = 0;
  uint64_t sequence = 0;  // from 1: a provider that connects anew by itself loses messages without a word
  uint32_t slot = 0, length = 0;              // length: of the bytes that follow
  uint64_t nonce = 0, offset = 0, value = 0;  // value: of a get: bytes wanted
};
static_assert(sizeof(Header) == 48);

// The data of a write: its place in the order of all writes, and the signal.
constexpr uint16_t kMaxAdd = 1023;
constexpr uint32_t signal_word(uint16_t stamp, uint16_t counter, uint16_t add) noexcept {
  return uint32_t(stamp) << 16 | uint32_t(counter) << 10 | add;
}

// A bell: a signal at the end of the write that it is of, where the bytes of a write land in their order. The
// ring of bells in the target's memory is written round and round; the byte that lands last says which time
// it is.
constexpr uint64_t kBells = 1024;
constexpr uint8_t lap(uint64_t number) noexcept { return uint8_t(number / kBells + 1); }
// taken: so many of the target's bells the sender has heard, modulo 2^16.
constexpr uint64_t bell(uint64_t number, uint16_t taken, uint32_t word) noexcept {
  return uint64_t{lap(number)} << 56 | uint64_t{taken} << 32 | word;
}

// Code::invalid for what is damaged or something else, Code::version for what another plait wrote.
Result<Ticket> parse_ticket(ByteView bytes);
Result<Key> parse_key(ByteView bytes);
std::optional<Identity> parse_identity(ByteView bytes) noexcept;
std::optional<Hello> parse_hello(ByteView bytes) noexcept;
// A message: its header, with as many bytes behind it as it says.
std::optional<Header> parse_header(ByteView message) noexcept;

}  // namespace plait::transport::ofi
