// What a receiver tells of its slots, and the bytes that come for them.
#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "transport/message_receive.h"

namespace plait::transport {

void MessageReceives::owe(uint16_t s) noexcept {
  if (slots_[s].due) return;
  slots_[s].due = true;
  due_.push() = s;
}

bool MessageReceives::advance() noexcept {
  bool moved = false;
  for (; !due_.empty() && tell(due_.front()); moved = true) {
    const uint16_t s = due_.front();
    due_.pop();
    slots_[s].due = false;
    if (slots_[s].phase == Phase::refusing) {
      too_long(s, slots_[s].bytes);
    } else if (slots_[s].phase == Phase::ended) {
      slots_[s].phase = Phase::free;
      free_slots_.give(s);
    }
  }
  return moved;
}

// False when there is no room for the lines that it takes.
bool MessageReceives::tell(uint16_t s) noexcept {
  Slot& slot = slots_[s];
  const bool wanted =
      slot.phase == Phase::waiting || slot.phase == Phase::matched || slot.phase == Phase::refusing;
  if (!wanted || slot.posted) return true;
  if (!lines_.room(1 + kMessageKeyLines)) return false;
  if (slot.phase != Phase::refusing) slot.region = region_of(slot);
  if (slot.region != kNoRegion) told_[slot.region].uses++;
  const bool waits = slot.phase == Phase::waiting;
  MessageLine& line = lines_.next(waits ? LineKind::post : LineKind::grant);
  write_place(slot, line);
  line.fields.slot = MessageHandle::make(s, slot.generation);
  if (waits) {
    line.fields.ahead = ahead_of(s);
    line.fields.seen = messages_;
  } else {
    line.fields.send = slot.send;
  }
  lines_.publish();
  slot.posted = true;
  return true;
}

void MessageReceives::write_place(const Slot& slot, MessageLine& line) const noexcept {
  line.id = slot.region;
  line.fields.tag = slot.tag;
  line.fields.bytes = slot.data.bytes;
  if (slot.region == kNoRegion) return;
  line.fields.offset =
      uint64_t(slot.data.data - static_cast<const std::byte*>(slot.data.region->memory().base));
}

uint32_t MessageReceives::ahead_of(uint16_t slot) const noexcept {
  uint32_t ahead = 0;
  for (uint16_t s = waiting_.first(); s != slot; s = waiting_.next(s))
    ahead += slots_[s].tag == slots_[slot].tag;
  return ahead;
}

// The number under which the peer knows the slot's region; it is told of one that it does not know.
// kNoRegion: its bytes cannot be put there, or all numbers are in use.
uint16_t MessageReceives::region_of(const Slot& slot) noexcept {
  if (slot.data.region == nullptr) return kNoRegion;
  const ByteView key = slot.data.region->key();
  if (key.empty() || key.size() > kMessageKeyMost) return kNoRegion;
  uint16_t oldest = kNoRegion;
  for (uint16_t i = 0; i < kMessageRegions; i++) {
    Told& told = told_[i];
    if (told.key_bytes == key.size() && std::memcmp(told.key.data(), key.data(), key.size()) == 0) {
      told.latest = ++tells_;
      return i;
    }
    if (told.uses == 0 && (oldest == kNoRegion || told.latest < told_[oldest].latest)) oldest = i;
  }
  if (oldest == kNoRegion) return kNoRegion;
  Told& told = told_[oldest];
  std::memcpy(told.key.data(), key.data(), key.size());
  told.key_bytes = key.size();
  told.latest = ++tells_;
  tell_key(oldest, key);
  return oldest;
}

// One line after the other: nothing comes between them.
void MessageReceives::tell_key(uint16_t region, ByteView key) noexcept {
  for (uint32_t i = 0; i < key_lines_of(key.size()); i++) {
    const ByteView some = key.subspan(i * kMessageKeyBytes);
    MessageLine& line = lines_.next(i == 0 ? LineKind::region : LineKind::key);
    line.id = region;
    line.flags = uint8_t(i == 0 ? key.size() : i);
    std::memcpy(line.key, some.data(), std::min<size_t>(some.size(), kMessageKeyBytes));
    lines_.publish();
  }
}

// Bytes may come before the line that says what they are: then they wait in the counter.
bool MessageReceives::land() noexcept {
  const uint64_t landed =
      wiring_.endpoint->counter(uint16_t(wiring_.first_counter + 1)).load(std::memory_order_acquire);
  bool moved = copy_shared();
  for (; !coming_.empty() && is_whole(coming_.front(), landed, moved); coming_.pop(), moved = true) {
    const uint16_t slot = coming_.front().slot;
    end(slot, slots_[slot].bytes);
  }
  return moved;
}

// Who has nothing more to wait for may poll no more, and the sender may wait to be told that its source is
// free.
bool MessageReceives::is_whole(Coming& coming, uint64_t landed, bool& moved) noexcept {
  if (coming.shared) return coming.taken && copy_of(coming).done();
  if (coming.streamed) {
    moved = land_parts(coming, landed) || moved;
    return coming.copied == slots_[coming.slot].bytes;
  }
  if (landed - landed_ < coming.pieces || !wiring_.endpoint->acks_sent()) return false;
  landed_ += coming.pieces;
  return true;
}

// Chunks of what comes next, as far as both copy it: of the first message that has any left.
bool MessageReceives::copy_shared() noexcept {
  size_t budget = kShareBytes;
  for (size_t i = 0; i < coming_.size() && coming_[i].shared && budget != 0; i++) {
    if (coming_[i].taken) continue;
    copy_of(coming_[i]).copy(budget);
    coming_[i].taken = budget != 0;
  }
  if (budget == kShareBytes) return false;
  wiring_.endpoint->notify();
  return true;
}

// Is the next part of a message there? Where parts are mapped it comes within a microsecond, mostly: sooner
// than this rank comes by again.
bool MessageReceives::has_part(uint64_t landed) noexcept {
  if (wiring_.mapped == nullptr) {
    if (landed_ == landed) return false;
    landed_++;
    return true;
  }
  for (uint32_t look = 0; look < kPartLooks; look++)
    if (wiring_.own->filled.load(std::memory_order_acquire) != lines_.consumed.parts) return true;
  return false;
}

bool MessageReceives::land_parts(Coming& coming, uint64_t landed) noexcept {
  bool moved = false;
  const Slot& slot = slots_[coming.slot];
  const bool past_cache = burst_.past_cache(slot.bytes, true);
  const uint64_t part_bytes = transport::part_bytes(coming.pieces, slot.bytes);
  for (; coming.copied != slot.bytes && has_part(landed); moved = true) {
    const uint64_t bytes = std::min(part_bytes, slot.bytes - coming.copied);
    const std::byte* part = wiring_.own_rings.part(wiring_.own, lines_.consumed.parts++);
    (past_cache ? copy_past_cache : copy_bytes)(slot.data.data + coming.copied, part, bytes);
    coming.copied += bytes;
  }
  if (past_cache && coming.copied == slot.bytes) end_past_cache();
  return moved;
}

}  // namespace plait::transport
