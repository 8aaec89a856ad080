#include "transport/message_receive.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/copy.h"

namespace plait::transport {

void UnitLedger::note(uint32_t from, uint32_t to, bool free) noexcept {
  end_[from % kUnits] = to;
  free_[from % kUnits] = free;
}

bool UnitLedger::take(uint32_t n, uint32_t& at) noexcept {
  if (!room(n)) return false;
  at = place_units(head_, n);
  if (at != head_) note(head_, at, true);  // skipped
  note(at, at + n, false);
  head_ = at + n;
  return true;
}

void UnitLedger::give(uint32_t at) noexcept {
  free_[at % kUnits] = true;
  while (tail_ != head_ && free_[tail_ % kUnits]) tail_ = end_[tail_ % kUnits];
}

MessageReceives::MessageReceives(const MessageWiring& wiring, MessageLines& lines, std::string_view peer)
    : wiring_(wiring), lines_(lines), peer_(peer) {
  for (uint16_t i = 0; i < kMost; i++) requests_[i].index_ = i;
}

MessageRequest* MessageReceives::start(std::span<const MessageSlot> wanted) noexcept {
  if (free_requests_.empty() || free_slots_.size() < wanted.size()) return nullptr;
  const uint16_t index = free_requests_.take();
  requests_[index].begin(uint32_t(wanted.size()));
  uint16_t place = 0;
  for (const MessageSlot& w : wanted) {
    const uint16_t s = free_slots_.take();
    Slot& slot = slots_[s];
    slot.phase = Phase::waiting;
    slot.posted = false;
    slot.generation++;
    slot.request = index;
    slot.place = place++;
    slot.region = kNoRegion;
    slot.tag = w.tag;
    slot.data = w.data;
    burst_.begin(w.data.bytes);
    const uint16_t early = arrived(w.tag);
    if (early != kNoIndex) {
      meet(s, early);
      continue;
    }
    waiting_.push(s);
    if (w.data.bytes > wiring_.eager_bytes()) owe(s);  // shorter ones are not put to
  }
  return &requests_[index];
}

void MessageReceives::release(MessageRequest* request) noexcept {
  request->state_ = MessageRequest::State::free;
  ended_--;
  request->status_ = Status();
  free_requests_.give(request->index_);
}

uint16_t MessageReceives::waiting_for(uint32_t tag) const noexcept {
  uint16_t s = waiting_.first();
  while (s != kNoIndex && slots_[s].tag != tag) s = waiting_.next(s);
  return s;
}

uint16_t MessageReceives::arrived(uint32_t tag) const noexcept {
  uint16_t a = early_.first();
  while (a != kNoIndex && arrivals_[a].tag != tag) a = early_.next(a);
  return a;
}

const char* MessageReceives::take(const MessageLine& line) noexcept {
  if (LineKind(line.kind) != LineKind::start) messages_++;
  switch (LineKind(line.kind)) {
    case LineKind::eager:
      return take_eager(line);
    case LineKind::ask:
      return take_ask(line);
    case LineKind::direct:
      return take_direct(line);
    default:
      return take_start(line);
  }
}

const char* MessageReceives::take_eager(const MessageLine& line) noexcept {
  const auto bytes = uint32_t(line.fields.bytes);
  uint32_t unit = 0;
  if (!units_.take(wiring_.own_rings.units_of(bytes), unit)) return "more messages than there is room for";
  if (units_.held() >= kUnits / 2) lines_.tell_soon();
  MessageLine copy = line;
  const std::byte* from = bytes <= kInlineBytes ? copy.payload() : wiring_.own_rings.unit(wiring_.own, unit);
  const uint16_t slot = waiting_for(line.fields.tag);
  if (slot != kNoIndex) {
    waiting_.remove(slot);
    deliver(slot, from, bytes);
    units_.give(unit);
    lines_.consumed.units = units_.given();
    return nullptr;
  }
  if (free_arrivals_.empty()) return "more messages than a link has";
  const uint16_t a = free_arrivals_.take();
  arrivals_[a] = {false, line.fields.tag, unit, 0, bytes, {}};
  if (bytes <= kInlineBytes) std::memcpy(arrivals_[a].inlined.data(), from, bytes);
  early_.push(a);
  return nullptr;
}

const char* MessageReceives::take_ask(const MessageLine& line) noexcept {
  const MessageFields& f = line.fields;
  const uint16_t slot = waiting_for(f.tag);
  if (slot != kNoIndex) {
    waiting_.remove(slot);
    match(slot, f.bytes, f.send);
    return nullptr;
  }
  if (free_arrivals_.empty()) return "more messages that ask than a link has";
  const uint16_t a = free_arrivals_.take();
  arrivals_[a] = {true, f.tag, 0, f.send, f.bytes, {}};
  early_.push(a);
  return nullptr;
}

// The peer counted right when it is this slot's turn.
const char* MessageReceives::take_direct(const MessageLine& line) noexcept {
  const uint16_t slot = waiting_for(line.fields.tag);
  if (slot == kNoIndex) return "a message to a slot that is not there";
  waiting_.remove(slot);
  slots_[slot].bytes = line.fields.bytes;
  return expect(slot, line);
}

const char* MessageReceives::take_start(const MessageLine& line) noexcept {
  const uint16_t slot = MessageHandle::index(line.fields.slot);
  if (slots_[slot].phase != Phase::matched) return "a message to a slot that waits for none";
  return expect(slot, line);
}

const char* MessageReceives::expect(uint16_t s, const MessageLine& line) noexcept {
  Slot& slot = slots_[s];
  const bool streamed = line.flags == kStreamed;
  if (line.fields.slot != MessageHandle::make(s, slot.generation))
    return "a message to a slot of another message";
  if (!slot.posted) return "a message to a slot that it was not told of";
  if (line.fields.bytes != slot.bytes || slot.bytes > slot.data.bytes)
    return "a message longer than its slot";
  if (!streamed && slot.region == kNoRegion) return "a message put where nothing may be put";
  Coming coming;
  coming.slot = s;
  coming.streamed = streamed;
  coming.pieces = line.fields.pieces;
  if (const char* why = line.flags == kShared ? expect_shared(coming, line) : nullptr) return why;
  slot.phase = Phase::receiving;
  coming_.push() = coming;
  return nullptr;
}

// The source is in the peer's memory, where it says, or nowhere.
const char* MessageReceives::expect_shared(Coming& coming, const MessageLine& line) noexcept {
  const MessageFields& f = line.fields;
  if (wiring_.mapped == nullptr || wiring_.arena == nullptr)
    return "a message to be copied by both where no memory is for both";
  const std::byte* from = lent_at(f.offset, f.bytes);
  if (from == nullptr) return "a message that does not lie in its memory";
  if (f.send != ++shares_) return "a message to be copied by both out of turn";
  coming.shared = true;
  coming.share = shares_;
  coming.from = from;
  return nullptr;
}

SharedCopy MessageReceives::copy_of(const Coming& coming) const noexcept {
  const Slot& slot = slots_[coming.slot];
  return {wiring_.own->shares[coming.share % kMessageShares],
          coming.share,
          SharedCopy::Side::receiver,
          coming.from,
          slot.data.data,
          slot.bytes,
          burst_.past_cache(slot.bytes, false)};
}

void MessageReceives::deliver(uint16_t s, const std::byte* from, uint64_t bytes) noexcept {
  Slot& slot = slots_[s];
  if (bytes > slot.data.bytes) return too_long(s, bytes);
  if (bytes != 0) copy_bytes(slot.data.data, from, bytes);
  end(s, bytes);
}

// A message that asks has met a slot. Where the peer knows the slot it knows this too.
void MessageReceives::match(uint16_t s, uint64_t bytes, uint32_t send) noexcept {
  Slot& slot = slots_[s];
  slot.bytes = bytes;
  slot.send = send;
  const bool fits = bytes <= slot.data.bytes;
  slot.phase = fits ? Phase::matched : Phase::refusing;
  if (!slot.posted) return owe(s);
  if (!fits) too_long(s, bytes);
}

void MessageReceives::meet(uint16_t slot, uint16_t a) noexcept {
  const Arrival& arrival = arrivals_[a];
  early_.remove(a);
  free_arrivals_.give(a);
  if (arrival.asked) return match(slot, arrival.bytes, arrival.send);
  deliver(slot,
          arrival.bytes <= kInlineBytes ? arrival.inlined.data()
                                        : wiring_.own_rings.unit(wiring_.own, arrival.unit),
          arrival.bytes);
  units_.give(arrival.unit);
  lines_.consumed.units = units_.given();
}

void MessageReceives::end(uint16_t s, size_t bytes) noexcept {
  Slot& slot = slots_[s];
  ended_ += requests_[slot.request].end(slot.place, bytes);
  if (slot.region != kNoRegion) told_[slot.region].uses--;
  slot.phase = Phase::ended;
  burst_.end(slot.data.bytes);
  if (slot.due) return;  // advance() frees it
  slot.phase = Phase::free;
  free_slots_.give(s);
}

void MessageReceives::too_long(uint16_t s, uint64_t bytes) noexcept {
  const Slot& slot = slots_[s];
  const Status status(Code::mismatch, "a message of " + std::to_string(bytes) + " bytes with tag " +
                                          std::to_string(int32_t(slot.tag)) + " from " + peer_ +
                                          " met a receive of " + std::to_string(slot.data.bytes) + " bytes");
  if (trouble_.ok()) trouble_ = status;
  requests_[slot.request].fail(status);
  end(s, 0);
}

void MessageReceives::fail(const Status& status) noexcept {
  for (MessageRequest& request : requests_) {
    if (request.state_ != MessageRequest::State::pending) continue;
    request.fail(status);
    request.state_ = MessageRequest::State::done;
    ended_++;
  }
}

}  // namespace plait::transport
