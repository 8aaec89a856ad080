#include "transport/message_lines.h"

#include <cstring>

namespace plait::transport {

MessageLine& MessageLines::next(LineKind kind) noexcept {
  MessageLine& line = wiring_.shadow->lines[tail_ % kMessageLines];
  line = MessageLine{};
  line.kind = uint8_t(kind);
  return line;
}

uint32_t MessageLines::publish() noexcept {
  MessageLine& line = wiring_.shadow->lines[tail_ % kMessageLines];
  line.lines = told_.lines = consumed.lines;
  if (!holds_key(line.kind)) {  // which takes the place of the rest
    line.fields.units = told_.units = consumed.units;
    line.fields.parts = told_.parts = consumed.parts;
  }
  return ++tail_;
}

void MessageLines::place(MessageLine& line, const std::byte* data, uint32_t bytes) noexcept {
  const uint32_t n = units_of(bytes), at = place_units(units_, n);
  units_ = at + n;
  if (bytes == 0) return;
  if (bytes <= kInlineBytes) {
    std::memcpy(line.payload(), data, bytes);
    return;
  }
  MessageMemory* target = wiring_.mapped != nullptr ? wiring_.mapped : wiring_.shadow;
  std::memcpy(target->units[at % kUnits], data, bytes);
  if (wiring_.mapped == nullptr) payload_[tail_ % kMessageLines] = {at % kUnits, bytes};
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
    transfers[n++] =
        put(wiring_.shadow->units[payload_[at].unit], payload_[at].bytes, {wiring_.first_counter, 0});
  }
  transfers[n] = put(&wiring_.shadow->lines[posted_ % kMessageLines], lines * sizeof(MessageLine),
                     {wiring_.first_counter, uint16_t(lines)});
  return n + 1;
}

// Before more is posted, too: what comes behind a line and finds no room shall not hold it up.
bool MessageLines::flush() noexcept {
  note_left();
  const bool all = post();
  note_left();
  return all;
}

void MessageLines::note_left() noexcept {
  if (left_ != posted_ && wiring_.endpoint->sent(wiring_.first_counter)) left_ = posted_;
}

bool MessageLines::post() noexcept {
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
  if (!advance(theirs_.lines, line.lines, posted_)) return false;
  if (holds_key(line.kind)) return true;
  return advance(theirs_.units, line.fields.units, units_) &&
         advance(theirs_.parts, line.fields.parts, parts_);
}

bool MessageLines::owes() const noexcept {
  return consumed.lines - told_.lines >= kMessageLines / 4 || consumed.units - told_.units >= kUnits / 4 ||
         consumed.parts - told_.parts >= kStreamParts / 2;
}

}  // namespace plait::transport
