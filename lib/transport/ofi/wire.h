// What libfabric's endpoints write to each other beside what all do that send messages (transport/am/wire.h):
// where an endpoint is, the keys of what may be written directly, and signals. No padding: every byte has a
// meaning, and is checked. Parsers are functions of the bytes alone.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/am/wire.h"
#include "transport/ofi/ofi.h"

namespace plait::transport::ofi {

constexpr Maker kMaker{"ofi", "libfabric endpoints", 0x49464f50, 3};  // "POFI"

// The address in a ticket: this, and then the provider's.
struct Where {
  uint8_t mode = 0, zero = 0;
  uint16_t stamp = 0;                 // direct: of the first signal that the bearer gets
  uint32_t protocol = 0;              // both sides' alike
  uint64_t bells = 0, bells_key = 0;  // direct: the bearer's ring of bells
};
static_assert(sizeof(Where) == 24);
constexpr size_t kMostAddress = 256;
// Leaves in `bytes` the provider's address, of 1 to kMostAddress bytes.
std::optional<Where> parse_where(ByteView& bytes) noexcept;

// Of a region of a domain in direct mode.
struct Key {
  RegionKey region;
  uint64_t base = 0;  // what the provider calls the first byte, and
  uint64_t key = 0;   // its key
  uint64_t sum = 0;
};
static_assert(sizeof(Key) == 72);
Key direct_key(ByteView region_key, uint64_t base, uint64_t key) noexcept;
Result<Key> parse_key(ByteView bytes);

// A signal: its place in the order of all of them, modulo 2^12, a counter, and what to add.
constexpr uint16_t kMaxAdd = 1023;
constexpr uint32_t kStampBits = 12, kCounterBits = 10, kAddBits = 10;
static_assert(kStampBits + kCounterBits + kAddBits == 32 && am::kCounters == 1U << kCounterBits &&
              kMaxAdd < 1U << kAddBits);
constexpr uint32_t signal_word(uint64_t stamp, const Signal& s) noexcept {
  return uint32_t(stamp) << (kCounterBits + kAddBits) | uint32_t(s.add == 0 ? 0 : s.counter) << kAddBits |
         s.add;
}
constexpr Signal signal_of(uint32_t word) noexcept {
  return {uint16_t((word >> kAddBits) % am::kCounters), uint16_t(word & kMaxAdd)};
}
constexpr bool has_stamp(uint32_t word, uint64_t stamp) noexcept {
  return word >> (kCounterBits + kAddBits) == (stamp & ((1U << kStampBits) - 1));
}

}  // namespace plait::transport::ofi
