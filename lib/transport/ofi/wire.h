// What libfabric's endpoints write to each other beside what all do that send messages (transport/am/wire.h):
// where an endpoint is, the keys of what may be written directly, and signals. No padding: every byte has a
// meaning, and is checked. Parsers are functions of the bytes alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "transport/am/wire.h"
#include "transport/ofi/ofi.h"

namespace plait::transport::ofi {

constexpr Maker kMaker{"ofi", "libfabric endpoints", 0x49464f50, 2};  // "POFI"

// The address in a ticket.
struct Where {
  uint8_t mode = 0, address_bytes = 0;
  uint16_t stamp = 0;                 // direct: of the first signal that the bearer gets
  uint32_t protocol = 0;              // both sides' alike
  uint64_t bells = 0, bells_key = 0;  // direct: the bearer's ring of bells
  std::array<std::byte, 128> address{};
};
static_assert(sizeof(Where) == 152);
std::optional<Where> parse_where(ByteView bytes) noexcept;

// Of a region of a domain in direct mode.
struct Key {
  RegionKey region;
  uint64_t base = 0;  // what the provider calls the first byte, and
  uint64_t key = 0;   // its key
  uint64_t sum = 0;
};
static_assert(sizeof(Key) == 72);
Result<Key> parse_key(ByteView bytes);

// A signal: its place in the order of all of them, modulo 2^12, a counter, and what to add.
constexpr uint16_t kMaxAdd = 1023;
constexpr uint32_t kStampBits = 12, kCounterBits = 10, kAddBits = 10;
static_assert(kStampBits + kCounterBits + kAddBits == 32 && am::kCounters == 1U << kCounterBits &&
              kMaxAdd < 1U << kAddBits);
constexpr uint32_t signal_word(uint64_t stamp, uint16_t counter, uint16_t add) noexcept {
  return uint32_t(stamp) << (kCounterBits + kAddBits) | uint32_t(counter) << kAddBits | add;
}
constexpr bool has_stamp(uint32_t word, uint64_t stamp) noexcept {
  return word >> (kCounterBits + kAddBits) == (stamp & ((1U << kStampBits) - 1));
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

constexpr bool is_mode(uint8_t mode) noexcept {
  return mode == uint8_t(Mode::direct) || mode == uint8_t(Mode::messages);
}

}  // namespace plait::transport::ofi
