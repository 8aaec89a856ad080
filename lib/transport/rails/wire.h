// What travels between processes: tickets, keys and identities are bundles of what the rails say; control
// lines go from endpoint to endpoint, over whichever rail lives. Parsers are functions of the bytes alone.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "transport/rails/rails.h"

namespace plait::transport::rails {

constexpr uint32_t kMagic = 0x4c494152;  // "RAIL"
constexpr uint16_t kVersion = 1;
constexpr size_t kCounters = 64;  // of an endpoint, at most
constexpr size_t kWindow = 32;    // parts of a counter that are under way, at most
constexpr size_t kLeastWindow = 4;
constexpr size_t kCellBytes = size_t{1} << 20;  // no control line is longer

enum class Bundle : uint8_t { ticket = 1, key = 2, identity = 3 };

// A few numbers and a block of bytes for each rail.
struct BundleHead {
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint8_t kind = 0, blocks = 0;
  uint64_t first = 0, second = 0;
  uint64_t sum = 0;  // FNV-1a of the head, with 0 here, and the blocks
};
static_assert(sizeof(BundleHead) == 32);
constexpr size_t kBlockHead = sizeof(uint32_t);

// For connect(). `cell_bytes`: what a control line to this endpoint may be long.
struct Ticket {
  uint16_t counters = 0, window = 0;
  uint32_t cell_bytes = 0;
  std::vector<ByteView> tickets, keys;  // of each rail: its ticket, and the key of the control region
};
struct Key {
  uint64_t bytes = 0;
  Access access = Access::none;
  std::vector<ByteView> keys;
};

Bytes make_ticket(const Ticket& ticket);
Bytes make_key(const Key& key);
Bytes make_identity(const std::vector<ByteView>& identities);
// What they give refers to `bytes`. Code::invalid for what is damaged or something else, Code::version for
// what another plait wrote.
Result<Ticket> parse_ticket(ByteView bytes);
Result<Key> parse_key(ByteView bytes);
Result<std::vector<ByteView>> parse_identity(ByteView bytes);

// dead: this generation of the rail is closed at the sender's end, and what had landed there by it. offer: a
// ticket for this generation. ready: the sender can receive on it.
enum class LineKind : uint8_t { dead = 1, offer = 2, ready = 3 };
struct LineHead {
  uint32_t magic = kMagic;
  LineKind kind{};
  uint8_t rail = 0;
  uint16_t bytes = 0;  // that follow
  uint32_t generation = 0, number = 0;
  uint64_t sum = 0;
};
static_assert(sizeof(LineHead) == 24);
struct Line {
  LineHead head;
  ByteView payload;
};
Bytes make_line(LineHead head, ByteView payload);
// Of a cell that holds a line and maybe more.
std::optional<Line> parse_line(ByteView cell) noexcept;

// What a dead line says of each counter of its sender: all parts before `next` were taken, of those from
// there on bit i is set where part next + i has landed on a rail that is gone; and the credits that went out
// over the dead rail.
struct Landed {
  uint64_t next = 0, bits = 0, credits = 0;
};
// Nothing when it is not of that many counters, or names parts outside of the window.
std::optional<std::vector<Landed>> parse_landed(ByteView payload, size_t counters, size_t window);

}  // namespace plait::transport::rails
