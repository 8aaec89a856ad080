#include "transport/message_lines.h"

#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "base/prefetch.h"

namespace plait::transport {

MessageLine& MessageLines::next(LineKind kind) noexcept {
  MessageLine& line = wiring_.shadow->lines[tail_ % kMessageLines];
  line = MessageLine{};
  line.kind = uint8_t(kind);
  return line;
}

uint32_t MessageLines::publish() noexcept {
  MessageLine& line = wiring_.shadow->lines[tail_ % kMessageLines];
  told_.lines = consumed.lines;
  urgent_ = false;
  line.lines = uint16_t(consumed.lines);
  line.turn = message_turn(tail_);
  if (!holds_key(line.kind)) {  // which takes the place of the rest
    line.fields.units = told_.units = consumed.units;
    line.fields.parts = told_.parts = consumed.parts;
  }
  return ++tail_;
}

void MessageLines::place(MessageLine& line, const std::byte* data, uint32_t bytes) noexcept {
  const uint32_t n = wiring_.their_rings.units_of(bytes), at = place_units(units_, n);
  units_ = at + n;
  short_ = tail_ + 1;
  if (bytes == 0) return;
  if (bytes <= kInlineBytes) {
    std::memcpy(line.payload(), data, bytes);
    return;
  }
  MessageFront* target = wiring_.mapped != nullptr ? wiring_.mapped : wiring_.shadow;
  copy_bytes(wiring_.their_rings.unit(target, at), data, bytes);
  if (wiring_.mapped == nullptr) payload_[tail_ % kMessageLines] = {at, bytes};
}

Transfer MessageLines::put(const void* home, size_t bytes, Signal signal) const noexcept {
  auto* from = static_cast<std::byte*>(const_cast<void*>(home));
  Transfer t;
  t.signal = signal;
  t.local = {from, bytes, wiring_.shadow_region};
  t.remote = {wiring_.remote,
              wiring_.remote_offset + uint64_t(from - reinterpret_cast<std::byte*>(wiring_.shadow)), bytes};
  return t;
}

// The units of some lines that lie side by side, then these lines as one put: the signal covers all of it.
// Gives how many transfers, and in `of` the line of each but the last.
size_t MessageLines::collect(std::span<Transfer> transfers, std::span<uint32_t> of,
                             uint32_t& lines) const noexcept {
  size_t n = 0;
  for (lines = 0; lines < wiring_.capabilities->max_add && posted_ + lines != tail_; lines++) {
    const uint32_t at = (posted_ + lines) % kMessageLines;
    if (lines != 0 && at == 0) break;
    if (payload_[at].bytes == 0) continue;
    if (n + 1 == transfers.size()) break;
    of[n] = at;
    transfers[n++] = put(wiring_.their_rings.unit(wiring_.shadow, payload_[at].unit), payload_[at].bytes,
                         {wiring_.first_counter, 0});
  }
  transfers[n] = put(&wiring_.shadow->lines[posted_ % kMessageLines], lines * sizeof(MessageLine),
                     {wiring_.first_counter, uint16_t(lines)});
  return n + 1;
}

bool MessageLines::landed(MessageLine& line) noexcept {
  const MessageLine& next = wiring_.own->lines[consumed.lines % kMessageLines];
  if (wiring_.mapped != nullptr) {
    const uint64_t head = message_head(next).load(std::memory_order_acquire);
    std::memcpy(&line.kind, &head, sizeof head);
    if (line.turn != message_turn(consumed.lines)) return false;
    std::memcpy(static_cast<void*>(&line), &next, kMessageHead);
    return true;
  }
  if (arrived_ == consumed.lines) {
    arrived_ = uint32_t(wiring_.endpoint->counter(wiring_.first_counter).load(std::memory_order_acquire));
    if (arrived_ == consumed.lines) return false;
  }
  line = next;  // the peer may write to it
  return true;
}

// Before more is posted, too: what comes behind a line and finds no room shall not hold it up.
bool MessageLines::flush() noexcept {
  note_left();
  const bool all = post();
  note_left();
  return all;
}

void MessageLines::note_left() noexcept {
  if (left_ == posted_) return;
  if (wiring_.mapped != nullptr || wiring_.endpoint->sent(wiring_.first_counter)) left_ = posted_;
}

// Where the peer maps its units they were filled where they lie, and lines are stored there, too: to send a
// signal for them would take another cache line to the peer. (At a turn of the ring the peer has read what is
// overwritten.)
void MessageLines::store() noexcept {
  if (posted_ == tail_) return;
  for (; posted_ != tail_; posted_++) {
    MessageLine& to = wiring_.mapped->lines[posted_ % kMessageLines];
    const MessageLine& from = wiring_.shadow->lines[posted_ % kMessageLines];
    uint64_t head;
    std::memcpy(&head, &from.kind, sizeof head);
    std::memcpy(static_cast<void*>(&to), &from, kMessageHead);
    message_head(to).store(head, std::memory_order_release);
  }
  fetch_next();
  wiring_.endpoint->notify();
}

bool MessageLines::post() noexcept {
  if (wiring_.mapped != nullptr) {
    store();
    return true;
  }
  while (posted_ != tail_) {
    Transfer transfers[16];
    uint32_t of[16], lines = 0;
    const size_t n = collect(transfers, of, lines);
    const size_t taken = wiring_.endpoint->post({transfers, n});
    for (size_t i = 0; i < std::min(taken, n - 1); i++) payload_[of[i]].bytes = 0;
    if (taken != n) return false;
    posted_ += lines;
  }
  return true;
}

bool MessageLines::credited(const MessageLine& line) noexcept {
  const auto advance = [](uint32_t& known, uint32_t told, uint32_t sent) {
    if (told - known > sent - known) return false;
    known = told;
    return true;
  };
  const uint32_t lines = theirs_.lines + uint16_t(line.lines - uint16_t(theirs_.lines));
  if (!advance(theirs_.lines, lines, posted_)) return false;
  if (all_read()) short_ = theirs_.lines;  // the numbers wrap
  if (holds_key(line.kind)) return true;
  return advance(theirs_.units, line.fields.units, units_) &&
         advance(theirs_.parts, line.fields.parts, parts_);
}

}  // namespace plait::transport
