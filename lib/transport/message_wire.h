// What two message links write into each other's memory: a ring of lines that announce, post, grant and give
// credit; a ring of units that hold short messages whole; and a ring of parts for long ones that have nowhere
// to go directly. Nothing here knows more than one line; what a line means after the ones before it is in
// message_{send,receive}.cc.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "transport/message_share.h"

namespace plait::transport {

constexpr uint32_t kMessageLines = 256;   // a power of two
constexpr uint32_t kMessageSends = 256;   // outstanding, of a link
constexpr uint32_t kMessageSlots = 256;   // of outstanding receives, of a link
constexpr uint32_t kMessageRegions = 64;  // of the peer that are known at a time
constexpr uint32_t kNoRegion = 0xffff;
constexpr uint32_t kUnits = 512;  // a power of two
// The peer is told at once of so many lines or units that were read.
constexpr uint32_t kCreditLines = kMessageLines / 2;
constexpr uint32_t kCreditUnits = kUnits / 4;
constexpr uint32_t kEagerBytes = 8 * 1024;  // longer messages wait until there is room for them where they go
constexpr uint32_t kFarEagerBytes = 64 * 1024;  // the same of domains whose latency is above:
constexpr double kFarLatency_s = 5e-6;
constexpr uint32_t kInlineBytes = 32;  // these lie in their line
constexpr uint32_t kStreamPartBytes = 16 * 1024;
constexpr uint32_t kMessageKeyBytes = 56;        // of a key, in a line
constexpr uint32_t kMessageKeyMost = UINT8_MAX;  // regions with longer keys are not put to
constexpr uint32_t kMessageKeyLines = (kMessageKeyMost + kMessageKeyBytes - 1) / kMessageKeyBytes;

// Sender's: eager, lent, ask, direct, start. Receiver's: post, grant, region, key. Each counts, in the order
// of the ring, as the message or receive that it speaks of.
enum class LineKind : uint8_t {
  credit = 1,  // nothing but what every line says: how much was consumed
  eager,       // a message whose bytes are here, or in the next units
  ask,         // a message that wants to know where to go
  direct,      // a message that goes to a slot that was posted
  start,       // the message that asked goes to the slot that it was told of
  post,        // a receive's slot, and where it lies, before its message came
  grant,       // the same, for a message that asked
  region,      // memory that slots lie in, under a number
  key,         // behind a region: what of its key did not find room
  lent,        // an eager message whose bytes still lie where the sender has them (message_lend.cc)
  taken,       // what the receiver makes of a lent one; no sender writes it
};
// Such lines hold nothing else.
constexpr bool holds_key(uint8_t kind) noexcept {
  return LineKind(kind) == LineKind::region || LineKind(kind) == LineKind::key;
}
constexpr uint32_t key_lines_of(size_t bytes) noexcept {
  return uint32_t((bytes + kMessageKeyBytes - 1) / kMessageKeyBytes);
}
// Flags of direct and start, one at most.
constexpr uint8_t kStreamed = 1;  // the bytes come through the parts
constexpr uint8_t kShared = 2;    // both copy them (message_share.h)

struct MessageFields {
  uint32_t units = 0, parts = 0;  // consumed so far
  uint32_t tag = 0;
  uint32_t slot = 0;    // a handle
  uint64_t bytes = 0;   // of the message; post, grant: that the slot has room for
  uint64_t offset = 0;  // post, grant: in the region; lent, shared: of the source, in the memory of the link
  uint32_t ahead = 0;   // post: this slot's message is that after `ahead` others of its tag ...
  uint32_t seen = 0;    // ... behind the first `seen` messages
  uint32_t send = 0;    // ask, grant: a handle; shared: how many there were, this one included
  uint32_t pieces = 0;  // direct, start: signals that the bytes come with, or parts; shared: 0
  uint64_t zero = 0;
};
static_assert(sizeof(MessageFields) == 56);
constexpr size_t kInlineOffset = 24;                              // in MessageFields, of an eager message
static_assert(offsetof(MessageFields, offset) == kInlineOffset);  // of a lent one

// The head is the last word of it, for who looks there for what landed (message_turn()).
struct alignas(64) MessageLine {
  union {
    MessageFields fields = {};
    std::byte key[kMessageKeyBytes];
  };
  uint8_t kind = 0;
  uint8_t flags = 0;   // region: length of the key; key: which line of it this is, from 1
  uint16_t id = 0;     // region, key, post, grant: number of the region, or kNoRegion
  uint16_t lines = 0;  // consumed so far, modulo 2^16
  uint16_t turn = 0;   // message_turn() of its number
  std::byte* payload() noexcept { return reinterpret_cast<std::byte*>(&fields) + kInlineOffset; }
};
static_assert(sizeof(MessageLine) == 64 && std::is_trivially_copyable_v<MessageLine>);
constexpr size_t kMessageHead = offsetof(MessageLine, kind);  // a word, where the line lies aligned
static_assert(kMessageHead == 56);

// How often the ring was begun when line `number`, from 0, is written. Never what the line's place held
// before: where memory is mapped that says that the line is there, elsewhere a counter does.
constexpr uint16_t message_turn(uint32_t number) noexcept { return uint16_t(number / kMessageLines + 1); }

// What a link exposes to its peer begins with this; the rings of units and parts are behind it. Zeroed, with
// Access::write. Units and parts begin lines, not in what `filled` leaves of its own: copies to and from the
// middle of lines take longer, by strings (base/copy.h) three times as long.
struct MessageFront {
  MessageLine lines[kMessageLines];
  // Touched where memory is mapped:
  MessageShare shares[kMessageShares];
  alignas(64) std::atomic<uint32_t> filled;  // how many parts the peer has filled since the beginning
};

// How these rings are divided: kUnits units, and behind them the parts.
struct MessageRings {
  uint32_t unit_bytes;
  uint32_t parts;  // a power of two
  // Just above 2^32 / unit_bytes: one of many of 4 KiB takes 5 % longer with divisions.
  uint32_t inverse = uint32_t((uint64_t{1} << 32) / unit_bytes + 1);

  // Of a message of so many bytes, kFarEagerBytes at most.
  constexpr uint32_t units_of(uint32_t bytes) const noexcept {
    return bytes <= kInlineBytes ? 1 : uint32_t(uint64_t{bytes + unit_bytes - 1} * inverse >> 32);
  }
  constexpr size_t bytes() const noexcept {
    return size_t{kUnits} * unit_bytes + size_t{parts} * kStreamPartBytes;
  }
  // By number since the beginning, of a memory that is divided so.
  std::byte* unit(MessageFront* memory, uint32_t number) const noexcept {
    return reinterpret_cast<std::byte*>(memory + 1) + size_t{number % kUnits} * unit_bytes;
  }
  std::byte* part(MessageFront* memory, uint32_t number) const noexcept {
    return unit(memory, 0) + size_t{kUnits} * unit_bytes + size_t{number & (parts - 1)} * kStreamPartBytes;
  }
};

constexpr MessageRings kRings = {1024, 4};
struct MessageMemory : MessageFront {
  alignas(64) std::byte rings[kRings.bytes()];
};
static_assert(sizeof(MessageMemory) == sizeof(MessageFront) + kRings.bytes() &&
              sizeof(MessageMemory) == 600 * 1024 + 64);

// Where the peer maps them, by the number that their owner tells it: larger, as both are stored to faster
// when they have left the cache of the core that read them, and together what shared memory, which is taken
// by 2 MiB, has left. Between two cores of a Zen 3 (L2 of 512 KiB) 1 MiB takes 55 us through 64 parts, 59
// through 32, 69 through 16, 82 through 8; one of many of 4 KiB 0.21 us through 1 MiB of units, 0.31 through
// 512 KiB, 0.51 through 128 KiB. A Zen 5 (L2 of 1 MiB) copies by strings, and parts count for less there:
// divided in the second way one of many of 4 KiB takes 0.103 us instead of 0.142, half a round trip of 4 KiB
// 0.238 instead of 0.255, of 1 MiB 20.5 instead of 20.3.
constexpr std::array<MessageRings, 2> kMappedRings = {{{896, 64}, {1792, 32}}};
uint16_t own_mapped_rings() noexcept;  // the number of the better ones for this processor
struct MappedMessageMemory : MessageFront {
  alignas(64) std::byte rings[std::max(kMappedRings[0].bytes(), kMappedRings[1].bytes())];
};
static_assert(sizeof(MappedMessageMemory) == 1496 * 1024 + 64);
constexpr bool fits(const MessageRings& rings) noexcept {
  return std::has_single_bit(rings.parts) && rings.unit_bytes % 64 == 0;
}
static_assert(fits(kRings) && fits(kMappedRings[0]) && fits(kMappedRings[1]));

// Counters of an endpoint, from the link's first one: lines landed; pieces and parts landed. The first is
// even and the second odd, so that TCP does not let lines wait behind bulk.
constexpr uint16_t kMessageCounters = 2;

// The head of a line of a short message as it lies in memory.
static_assert(std::endian::native == std::endian::little);
constexpr uint64_t message_head_word(LineKind kind, uint32_t lines, uint16_t turn) noexcept {
  return uint64_t(kind) | uint64_t(uint16_t(lines)) << 32 | uint64_t(turn) << 48;
}
constexpr uint64_t with_kind(uint64_t head, LineKind kind) noexcept {
  return (head & ~uint64_t{0xff}) | uint64_t(kind);
}

// Null, or what no link of this version would write, as part of a sentence.
const char* refusal(const MessageLine& line) noexcept;

constexpr uint64_t parts_of(uint64_t bytes) noexcept {
  return (bytes + kStreamPartBytes - 1) / kStreamPartBytes;
}
// What is one part may come as two halves, so that the second one is filled while the first is read.
constexpr bool are_parts_of(uint64_t parts, uint64_t bytes) noexcept {
  return parts == parts_of(bytes) || (parts == 2 && bytes > 1 && bytes <= kStreamPartBytes);
}
// The bytes of each of so many parts but the last one.
constexpr uint64_t part_bytes(uint64_t parts, uint64_t bytes) noexcept {
  return parts == 2 && bytes <= kStreamPartBytes ? (bytes + 1) / 2 : kStreamPartBytes;
}
// Where in the ring of units a message of `units` begins when the ring has come to `head`: not across its
// end.
constexpr uint32_t place_units(uint32_t head, uint32_t units) noexcept {
  return head % kUnits + units <= kUnits ? head : head + (kUnits - head % kUnits);
}

// Names a slot or a send on the wire: an index, and a count of its uses that tells an old name from a new
// one.
struct MessageHandle {
  static constexpr uint32_t make(uint16_t index, uint16_t generation) noexcept {
    return uint32_t(generation) << 16 | index;
  }
  static constexpr uint16_t index(uint32_t handle) noexcept { return uint16_t(handle); }
};

}  // namespace plait::transport
