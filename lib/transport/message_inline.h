// Short messages whose bytes lie in their line (kInlineBytes), without a request: what send_now() and
// receive_now() do, for that case alone and compiled into who calls it. A receive works out, before it looks,
// what the line of a peer that answers at once says; so from the line that lands to the one that leaves lie
// few instructions, and of two ranks that take turns this is what a message takes.
#pragma once

#include <cstring>

#include "base/wait.h"
#include "transport/message.h"

namespace plait::transport {

// `bytes` <= kInlineBytes: the first and the last of them, which may overlap. Without a call, for which
// whoever it is compiled into would have to keep what it holds in registers.
template <size_t N>
[[gnu::always_inline]] inline void copy_ends(std::byte* to, const std::byte* from, size_t bytes) noexcept {
  struct Some {
    std::byte all[N];
  } first, last;
  std::memcpy(&first, from, N);
  std::memcpy(&last, from + bytes - N, N);
  std::memcpy(to, &first, N);
  std::memcpy(to + bytes - N, &last, N);
}
[[gnu::always_inline]] inline void copy_inline(std::byte* to, const std::byte* from, size_t bytes) noexcept {
  static_assert(kInlineBytes == 32);
  if (bytes == 8) return void(std::memcpy(to, from, 8));  // what latency is measured with
  if (bytes >= 16) return copy_ends<16>(to, from, bytes);
  if (bytes >= 8) return copy_ends<8>(to, from, bytes);
  if (bytes >= 4) return copy_ends<4>(to, from, bytes);
  if (bytes >= 2) return copy_ends<2>(to, from, bytes);
  if (bytes == 1) *to = *from;
}

inline bool MessageLines::stores_inline() const noexcept {
  return posted_ == tail_ && room() && units_ + 1 - theirs_.units <= kUnits;
}

inline void MessageLines::store_inline(uint32_t tag, const std::byte* data, uint32_t bytes) noexcept {
  uint32_t at = 0;
  MessageLine& to = begin_short(tag, bytes, 1, at);
  copy_inline(to.payload(), data, bytes);
  end_short(to, message_head_word(LineKind::eager, consumed.lines, message_turn(tail_)));
}

inline bool MessageLines::land_inline(uint32_t tag, std::byte* data, size_t room, uint32_t looks,
                                      size_t& moved) noexcept {
  if (posted_ != tail_ || urgent_ || owes_after(1, 1)) return false;
  MessageLine& next = wiring_.own->lines[consumed.lines % kMessageLines];
  const uint64_t awaited = message_head_word(LineKind::eager, posted_, message_turn(consumed.lines));
  uint64_t head = message_head(next).load(std::memory_order_acquire);
  for (uint32_t look = 0; head >> 48 != awaited >> 48; look++) {
    if (look == looks) return false;
    if (look >= Waiter::kEager) cpu_relax();
    head = message_head(next).load(std::memory_order_acquire);
  }
  // Each word once, as the peer may write there.
  const auto word = [](auto& field) { return std::atomic_ref(field).load(std::memory_order_relaxed); };
  const uint64_t bytes = word(next.fields.bytes);
  if (head != awaited || word(next.fields.units) != units_ || word(next.fields.parts) != parts_ ||
      word(next.fields.tag) != tag || bytes > room || bytes > kInlineBytes)
    return false;
  copy_inline(data, next.payload(), bytes);
  theirs_.lines = short_ = posted_;
  theirs_.units = units_;
  theirs_.parts = parts_;
  consumed.lines++;
  moved = bytes;
  return true;
}

inline bool MessageSends::send_inline(uint32_t tag, const std::byte* data, uint32_t bytes) noexcept {
  if (!queued_.empty() || !lines_.stores_inline()) [[unlikely]]
    return false;
  lines_.store_inline(tag, data, bytes);
  count_message(tag, kNoIndex);
  lines_.notify();
  return true;
}

inline bool MessageReceives::receive_inline(uint32_t tag, std::byte* data, size_t room, uint32_t looks,
                                            size_t& moved) noexcept {
  if (!takes_now() || units_.held() != 0 || !lines_.land_inline(tag, data, room, looks, moved)) return false;
  lines_.consumed.units = units_.pass();
  messages_++;
  return true;
}

inline bool MessageLink::send_inline(uint32_t tag, const std::byte* data, uint32_t bytes) noexcept {
  return status_.ok() && sends_.send_inline(tag, data, bytes);
}

inline bool MessageLink::receive_inline(uint32_t tag, std::byte* data, size_t room, uint32_t looks,
                                        size_t& moved) noexcept {
  return status_.ok() && receives_.receive_inline(tag, data, room, looks, moved);
}

}  // namespace plait::transport
