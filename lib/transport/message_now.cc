// Short messages without a request: where the peer is mapped and nothing is in between, a send is a line that
// is stored, and a receive one that is read. In the order of all others, and by the same rules.
#include <cstring>

#include "base/copy.h"
#include "base/prefetch.h"
#include "transport/message.h"

namespace plait::transport {

// What publish() and store() do, without the copy in between.
void MessageLines::store_eager(uint32_t tag, const std::byte* data, uint32_t bytes) noexcept {
  uint32_t at = 0;
  MessageLine& to = begin_short(tag, bytes, wiring_.their_rings.units_of(bytes), at);
  if (bytes == 8) {  // what latency is measured with
    std::memcpy(to.payload(), data, 8);
  } else if (bytes > kInlineBytes) {
    copy_bytes(wiring_.their_rings.unit(wiring_.mapped, at), data, bytes);
  } else if (bytes > 0) {
    std::memcpy(to.payload(), data, bytes);
  }
  end_short(to, message_head_word(LineKind::eager, consumed.lines, message_turn(tail_)));
}

bool MessageSends::send_now(uint32_t tag, const std::byte* data, size_t bytes, bool waits) noexcept {
  if (!queued_.empty() || bytes > kEagerBytes || !lines_.stores_now() || !lines_.room() ||
      !lines_.room_for_units(uint32_t(bytes)))
    return false;
  if (waits && bytes > kInlineBytes && may_lend(data, bytes)) {
    lend(tag, data, uint32_t(bytes));
  } else {
    lines_.store_eager(tag, data, uint32_t(bytes));
    lines_.notify();
  }
  count_message(tag, kNoIndex);
  return true;
}

// Each word once, as the peer may write there.
bool MessageLines::landed_short(MessageLine& line) const noexcept {
  MessageLine& next = wiring_.own->lines[consumed.lines % kMessageLines];
  const uint64_t head = message_head(next).load(std::memory_order_acquire);
  std::memcpy(&line.kind, &head, sizeof head);
  if (line.turn != message_turn(consumed.lines)) return false;
#pragma GCC unroll 3
  for (size_t at = 0; at < kInlineOffset; at += sizeof(uint64_t)) {
    auto* word = reinterpret_cast<uint64_t*>(reinterpret_cast<std::byte*>(&next) + at);
    const uint64_t now = std::atomic_ref<uint64_t>(*word).load(std::memory_order_relaxed);
    std::memcpy(reinterpret_cast<std::byte*>(&line) + at, &now, sizeof now);
  }
  return true;
}

// What anything is wrong with, or is not this, is left to take().
bool MessageReceives::receive_now(uint32_t tag, std::byte* data, size_t room, size_t& moved) noexcept {
  MessageLine line;
  if (!takes_now() || !lines_.landed_short(line)) return false;
  const uint64_t bytes = line.fields.bytes;
  if (LineKind(line.kind) == LineKind::lent) [[unlikely]]
    return receive_lent(line, tag, data, room, moved);
  if (LineKind(line.kind) != LineKind::eager || line.fields.tag != tag || bytes > room || bytes > kEagerBytes)
    return false;
  if (!lines_.knows(line) && !lines_.credited(line)) return false;
  uint32_t unit = 0;
  if (!units_.pass(wiring_.own_rings.units_of(uint32_t(bytes)), unit)) return false;
  if (bytes == 8) {  // what latency is measured with
    std::memcpy(data, lines_.landed_payload(), 8);
  } else if (bytes > kInlineBytes) {
    copy_bytes(data, wiring_.own_rings.unit(wiring_.own, unit), bytes);
  } else if (bytes > 0) {
    std::memcpy(data, lines_.landed_payload(), bytes);
  }
  lines_.consumed.units = units_.given();
  lines_.consumed.lines++;
  messages_++;
  moved = bytes;
  return true;
}

}  // namespace plait::transport
