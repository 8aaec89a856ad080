// What travels between processes as bytes: tickets and keys out of band, hellos over the Unix socket. No
// padding: every byte has a meaning, and is checked.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "transport/shm/arena.h"
#include "transport/transport.h"

namespace plait::transport::shm {

constexpr uint32_t kMagic = 0x4d485350;  // "PSHM"
constexpr uint16_t kVersion = 1;

struct Ticket {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint16_t zero = 0;
  std::array<uint64_t, 2> listener{};  // names the domain's socket
  uint64_t endpoint = 0;
  uint64_t sum = 0;  // of all before it: finds damage; the nonces find forgers
};
static_assert(sizeof(Ticket) == 40);

uint64_t sum_of(const Ticket& ticket) noexcept;  // FNV-1a

enum class Kind : uint8_t { mapped = 0, plain = 1 };

struct Key {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint8_t kind = 0, access = 0;
  uint64_t owner = 0;  // nonce of the domain
  uint64_t nonce = 0;
  uint64_t record = 0;  // where the RegionRecord lies in the owner's arena
  uint64_t start = 0;   // offset in the arena, or address
  uint64_t bytes = 0;
};
static_assert(sizeof(Key) == 48);

// The dialer's first message, and the answer. With it: the arena's memfd and the domain's eventfd.
struct Hello {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint16_t counters = 0;      // of the sender's endpoint
  uint64_t from = 0, to = 0;  // nonces of the two endpoints
  ArenaIdentity arena;
  uint64_t arena_bytes = 0;
  uint64_t control = 0, words = 0;  // offsets of the sender's Control and DomainWords
  uint64_t domain = 0;              // its domain's nonce
  uint64_t process = 0;             // its process's,
  uint64_t probe = 0;               // and the address where it lies, to try process_vm_readv with
  uint64_t light = 0;               // 1: the sender's process takes part in asymmetric barriers
};
static_assert(sizeof(Hello) == 112);

// The only message after the hellos: an orderly end.
constexpr std::byte kGoodbye{'G'};

// Functions of the bytes alone; that a key is of a region which is there is for its owner's record to say.
// Code::invalid for what is damaged or something else, Code::version for another plait's ticket.
Result<Ticket> parse_ticket(ByteView bytes);
Result<Key> parse_key(ByteView bytes);

}  // namespace plait::transport::shm
