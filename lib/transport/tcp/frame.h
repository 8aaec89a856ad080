// What travels on a connection after the hellos: frames, a header of fixed size and what it says follows.
// Little-endian, as plait is.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "transport/transfers.h"

namespace plait::transport::tcp {

constexpr size_t kPiece = size_t{256} << 10;  // the most that follows a header

enum class FrameKind : uint8_t {
  put = 'P',      // bytes for a region, and with the last of a transfer its signal
  get = 'G',      // asks for bytes of a region
  data = 'D',     // bytes that answer the oldest get that was not answered whole
  ack = 'A',      // puts of a lane that asked for it have landed, so many since the start
  error = 'E',    // why the endpoint failed; the last frame
  goodbye = 'B',  // the endpoint was closed; the last frame
};

enum FrameFlags : uint8_t {
  kLast = 1,   // put, data: of its transfer
  kAsked = 2,  // put, with kLast: acknowledge it
};

struct Header {
  uint8_t kind = 0, flags = 0;
  uint16_t counter = 0, add = 0;
  uint16_t zero = 0;
  uint32_t slot = 0;    // of the region
  uint32_t length = 0;  // bytes that follow
  uint64_t nonce = 0;   // of the region
  uint64_t offset = 0;  // in it
  uint64_t value = 0;   // get: bytes wanted; ack: lane << 56 | count; error: a Refusal
};
static_assert(sizeof(Header) == 40);

constexpr int kLaneShift = 56;
constexpr uint64_t kLastFrameLane = 4;  // the last lane that carries frames

// A header whose fields fit its kind; nothing for all others. What depends on the receiver's state (region,
// rights, bounds, counters) is the receiver's to check.
std::optional<Header> parse_header(ByteView bytes) noexcept;

}  // namespace plait::transport::tcp
