// Short messages that are lent: the line says where the bytes lie, in memory that the receiver maps, and it
// copies them from there while the sender looks on: once, instead of into units and out of them. The head of
// the line says whose turn it is. The receiver copies first and then makes `lent` into `taken`; a sender for
// which nobody comes copies the bytes into the units of the message and then makes `lent` into `eager`. Of
// the two one comes first: a receiver that comes too late has read what may have changed meanwhile, and reads
// the units. So neither depends on the other to go on, and a sender that dies, or gives up, leaves nothing
// open.
#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "base/wait.h"
#include "transport/message_receive.h"
#include "transport/message_send.h"

namespace plait::transport {

namespace {

// How often a sender looks whether its message was taken: 1.8 us on a Zen 3, where a receiver that waits is
// done with 4 KiB after 0.3.
constexpr uint32_t kLendLooks = 64;
constexpr uint32_t kRestMost = 63;

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PLAIT_SEES_RACES
#endif
#elif defined(__SANITIZE_THREAD__)
#define PLAIT_SEES_RACES
#endif

// Reads what its owner may be writing to by then; who calls throws away what it read in that case.
#ifdef PLAIT_SEES_RACES
__attribute__((no_sanitize("thread"), noinline)) void copy_lent(std::byte* to, const std::byte* from,
                                                                size_t bytes) {
  const volatile std::byte* each = from;
  for (size_t i = 0; i < bytes; i++) to[i] = each[i];
}
#else
void copy_lent(std::byte* to, const std::byte* from, size_t bytes) { copy_bytes(to, from, bytes); }
#endif

}  // namespace

bool MessageLines::lend(uint32_t tag, const std::byte* data, uint64_t offset, uint32_t bytes) noexcept {
  uint32_t at = 0;
  MessageLine& line = begin_short(tag, bytes, wiring_.their_rings.units_of(bytes), at);
  line.fields.offset = offset;
  uint64_t lent = message_head_word(LineKind::lent, consumed.lines, message_turn(tail_));
  end_short(line, lent);
  notify();
  const std::atomic_ref<uint64_t> head = message_head(line);
  for (uint32_t look = 0; look < kLendLooks; look++) {
    cpu_relax();
    if (head.load(std::memory_order_acquire) != lent) return true;
  }
  copy_bytes(wiring_.their_rings.unit(wiring_.mapped, at), data, bytes);
  if (!head.compare_exchange_strong(lent, with_kind(lent, LineKind::eager))) return true;
  wiring_.endpoint->notify();
  return false;
}

bool MessageLines::take_lent(const MessageLine& line) noexcept {
  uint64_t lent = message_head_word(LineKind::lent, line.lines, line.turn);
  return message_head(wiring_.own->lines[consumed.lines % kMessageLines])
      .compare_exchange_strong(lent, with_kind(lent, LineKind::taken), std::memory_order_acq_rel);
}

// Only to a peer that was heard of since the message before: it sends and receives in turn, and the next
// thing it does is likely to receive this. Many that go one way are faster through units, which both fill and
// empty at a time.
bool MessageSends::may_lend(const std::byte* data, size_t bytes) noexcept {
  if (wiring_.arena == nullptr || !in_bounds(offset_in_arena(data), bytes, wiring_.arena->memory().bytes))
    return false;
  const bool heard = lines_.consumed.lines != heard_;
  heard_ = lines_.consumed.lines;
  if (!heard) return false;
  if (resting_ == 0) return true;
  resting_--;
  return false;
}

void MessageSends::lend(uint32_t tag, const std::byte* data, uint32_t bytes) noexcept {
  rest_ = lines_.lend(tag, data, offset_in_arena(data), bytes) ? 0 : std::min(rest_ * 2 + 1, kRestMost);
  resting_ = rest_;
}

// What anything is wrong with is left to take_lent().
bool MessageReceives::receive_lent(const MessageLine& line, uint32_t tag, std::byte* data, size_t room,
                                   size_t& moved) noexcept {
  const uint64_t bytes = line.fields.bytes;
  if (line.fields.tag != tag || bytes > room || bytes > kEagerBytes || units_.held() != 0) return false;
  if (!lines_.knows(line) && !lines_.credited(line)) return false;
  const std::byte* from = lent_at(lines_.landed_offset(), bytes);
  if (from == nullptr) return false;
  copy_lent(data, from, bytes);
  if (!lines_.take_lent(line)) return false;
  uint32_t unit = 0;
  (void)units_.pass(wiring_.own_rings.units_of(uint32_t(bytes)), unit);  // none are held
  lines_.consumed.units = units_.given();
  lines_.consumed.lines++;
  messages_++;
  moved = bytes;
  return true;
}

bool MessageReceives::take_lent(const MessageLine& line, const char*& why) noexcept {
  const auto bytes = uint32_t(line.fields.bytes);
  const std::byte* from = lent_at(line.fields.offset, bytes);
  if (from == nullptr) {
    why = "a message that it lends from where this rank does not reach it";
    return true;
  }
  const uint32_t n = wiring_.own_rings.units_of(bytes);
  if (!units_.room(n)) {
    why = "more messages than there is room for";
    return true;
  }
  const uint16_t s = waiting_for(line.fields.tag);
  if (s == kNoIndex || bytes > slots_[s].data.bytes) return false;
  copy_lent(slots_[s].data.data, from, bytes);
  if (!lines_.take_lent(line)) return false;
  uint32_t unit = 0;
  (void)units_.take(n, unit);
  units_.give(unit);
  lines_.consumed.units = units_.given();
  messages_++;
  waiting_.remove(s);
  end(s, bytes);
  return true;
}

// Null where the peer may not lend from.
const std::byte* MessageReceives::lent_at(uint64_t offset, uint64_t bytes) const noexcept {
  if (wiring_.mapped == nullptr || wiring_.arena == nullptr) return nullptr;
  const RemoteRegion& peers = *wiring_.remote;
  return may_read(peers.access()) && in_bounds(offset, bytes, peers.bytes()) ? peers.mapped() + offset
                                                                             : nullptr;
}

}  // namespace plait::transport
