#include "transport/tcp/frame.h"

namespace plait::transport::tcp {

namespace {

bool no_region(const Header& h) noexcept { return h.slot == 0 && h.nonce == 0 && h.offset == 0; }
bool no_signal(const Header& h) noexcept { return h.counter == 0 && h.add == 0; }
bool fits(uint64_t offset, uint64_t bytes) noexcept {
  return bytes <= kMaxTransfer && offset <= UINT64_MAX - bytes;
}

bool good_put(const Header& h) noexcept {
  const bool last = (h.flags & kLast) != 0;
  if ((h.flags & ~(kLast | kAsked)) != 0 || (!last && (h.flags != 0 || h.length == 0))) return false;
  if (h.add == 0 ? h.counter != 0 : !last) return false;
  return h.value == 0 && (h.length == 0 ? no_region(h) : fits(h.offset, h.length));
}

bool good_get(const Header& h) noexcept {
  return h.flags == 0 && no_signal(h) && h.length == 0 &&
         (h.value == 0 ? no_region(h) : fits(h.offset, h.value));
}

bool good_data(const Header& h) noexcept {
  return (h.flags & ~kLast) == 0 && no_signal(h) && no_region(h) && h.value == 0 &&
         (h.length != 0 || h.flags == kLast);
}

bool bare(const Header& h) noexcept { return h.flags == 0 && no_signal(h) && no_region(h) && h.length == 0; }

}  // namespace

std::optional<Header> parse_header(ByteView bytes) noexcept {
  Header h;
  if (!take(bytes, h) || h.zero != 0 || h.length > kPiece) return std::nullopt;
  bool good = false;
  switch (FrameKind(h.kind)) {
    case FrameKind::put:
      good = good_put(h);
      break;
    case FrameKind::get:
      good = good_get(h);
      break;
    case FrameKind::data:
      good = good_data(h);
      break;
    case FrameKind::ack:
      good = bare(h) && h.value >> kLaneShift <= kLastFrameLane;
      break;
    case FrameKind::error:
      good = bare(h) && h.value >= uint8_t(Refusal::nonsense) && h.value <= uint8_t(Refusal::too_many);
      break;
    case FrameKind::goodbye:
      good = bare(h) && h.value == 0;
      break;
  }
  return good ? std::optional(h) : std::nullopt;
}

}  // namespace plait::transport::tcp
