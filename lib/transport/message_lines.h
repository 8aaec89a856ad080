// The lines that a link writes to its peer: staged in order, posted as far as the endpoint takes them,
// several as one put; and the credit that comes back and goes along.
#pragma once

#include <atomic>

#include "base/prefetch.h"
#include "transport/message_wire.h"
#include "transport/transport.h"

namespace plait::transport {

// How a link gets at its endpoint and both memories. All of it outlives the link.
struct MessageWiring {
  Endpoint* endpoint = nullptr;                // ready, and the peer said so
  const Capabilities* capabilities = nullptr;  // of its domain
  RemoteRegion* remote = nullptr;              // holds the peer's MessageMemory for this rank ...
  uint64_t remote_offset = 0;                  // ... here
  MessageFront* mapped = nullptr;              // the same by store, or null
  // The region of own memory that is the peer's `remote`. Where it is given and `mapped` is, long messages
  // from it are copied by both ranks: who drives the link sees to it that neither does while the other gives
  // up.
  const Region* arena = nullptr;
  MessageFront* own = nullptr;            // this rank's, for the peer
  MessageRings their_rings = kRings;      // of the peer's memory, and of the shadow
  MessageRings own_rings = kRings;        // of `own`
  MessageFront* shadow = nullptr;         // to put from; where `mapped`, only its lines are used
  const Region* shadow_region = nullptr;  // null where the domain needs none
  uint16_t first_counter = 0;             // even; of kMessageCounters, alike on both sides
  uint64_t first_cookie = 0;              // of kMessageCookies

  // Up to here a message is short. Where what is told takes so long, two copies more of it take less than
  // telling where it may go.
  uint32_t eager_bytes() const noexcept {
    return mapped == nullptr && capabilities->cost.latency_s > kFarLatency_s ? kFarEagerBytes : kEagerBytes;
  }
};

// The word that says that a line is there; its turn are the uppermost bits.
inline std::atomic_ref<uint64_t> message_head(const MessageLine& line) noexcept {
  auto* at = reinterpret_cast<std::byte*>(const_cast<MessageLine*>(&line)) + kMessageHead;
  return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(at));
}

// What a link has consumed of its peer's: told with every line.
struct MessageCredit {
  uint32_t lines = 0, units = 0, parts = 0;
};

class MessageLines {
 public:
  void bind(const MessageWiring& wiring) noexcept { wiring_ = wiring; }

  // One line is kept for credit: without it two links that have filled each other's rings would wait for
  // ever.
  bool room(uint32_t lines = 1) const noexcept { return tail_ - theirs_.lines + lines < kMessageLines; }
  bool room_for_credit() const noexcept { return tail_ - theirs_.lines < kMessageLines; }
  // An empty line of a kind, which publish() makes the next one.
  MessageLine& next(LineKind kind) noexcept;
  // Returns how many lines were published, this one included: see left().
  uint32_t publish() noexcept;

  // Room in the peer's units for a message; the bytes of one that does not lie in its line are copied there.
  bool room_for_units(uint32_t bytes) const noexcept {
    const uint32_t n = wiring_.their_rings.units_of(bytes);
    return place_units(units_, n) + n - theirs_.units <= kUnits;
  }
  // Has the peer said that it read all short messages? What they took of its units is held then by messages
  // that nobody takes, and else may come back without any being taken.
  bool all_read() const noexcept { return int32_t(theirs_.lines - short_) >= 0; }
  // Fills the payload of next(), with `bytes` bytes that it copies.
  void place(MessageLine& line, const std::byte* data, uint32_t bytes) noexcept;

  // May store_eager() be called? It writes an eager message as the next line, at once.
  bool stores_now() const noexcept { return mapped() && posted_ == tail_; }
  bool mapped() const noexcept { return wiring_.mapped != nullptr; }
  void store_eager(uint32_t tag, const std::byte* data, uint32_t bytes) noexcept;
  // Behind these: wakes the peer if it sleeps.
  void notify() noexcept { wiring_.endpoint->notify(); }

  // message_inline.h, mapped: of messages that lie in their line. May store_inline() be called, which is
  // store_eager() for them?
  bool stores_inline() const noexcept;
  [[gnu::always_inline]] void store_inline(uint32_t tag, const std::byte* data, uint32_t bytes) noexcept;
  // Looks `looks` times for the next line, and consumes it, but for its unit, where it is such a message with
  // this tag from a peer that has read all it was sent. False: it did not come, or is anything else, or
  // credit is owed.
  [[gnu::always_inline]] bool land_inline(uint32_t tag, std::byte* data, size_t room, uint32_t looks,
                                          size_t& moved) noexcept;

  // Where stores_now(): writes a message that lies at `offset` of the wiring's arena as the next line, and
  // looks for a while whether the peer takes it; else copies it to where an eager one's bytes are, and it is
  // one. False: that.
  bool lend(uint32_t tag, const std::byte* data, uint64_t offset, uint32_t bytes) noexcept;
  // Mapped: says that the next line of the peer's, which lends and was copied to `line`, was read. False: the
  // peer has withdrawn it, and what was read may be anything.
  bool take_lent(const MessageLine& line) noexcept;

  // Posts what the endpoint takes. True when nothing is left.
  bool flush() noexcept;
  // Had line number `line` (of publish()) left at the latest flush()?
  bool left(uint32_t line) const noexcept { return int32_t(left_ - line) >= 0; }

  // Mapped: would landed() find a line?
  bool has_landed() const noexcept {
    const MessageLine& next = wiring_.own->lines[consumed.lines % kMessageLines];
    return uint16_t(message_head(next).load(std::memory_order_relaxed) >> 48) == message_turn(consumed.lines);
  }
  // Mapped: fetches the `ahead`-th line from the next one on, which the peer should have written: one that it
  // has not yet is taken away from it.
  void fetch(uint32_t ahead) const noexcept {
    __builtin_prefetch(&wiring_.own->lines[(consumed.lines + ahead) % kMessageLines]);
  }
  // Copies the next line of the peer's, and the caller consumes it. False: it is not there.
  bool landed(MessageLine& line) noexcept;
  // Mapped: the same of what begins each line that holds no key: the fields before the payload, and the head.
  // The rest of `line` is left as it is; the payload lies in landed_payload().
  bool landed_short(MessageLine& line) const noexcept;
  const std::byte* landed_payload() const noexcept {
    return reinterpret_cast<const std::byte*>(&wiring_.own->lines[consumed.lines % kMessageLines]) +
           kInlineOffset;
  }
  // Mapped: where the message lies that the line lends. Once, as the peer may write there.
  uint64_t landed_offset() const noexcept {
    auto* at = const_cast<std::byte*>(landed_payload());
    return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(at)).load(std::memory_order_relaxed);
  }
  // Did the peer announce more lines than there is room for?
  bool too_many() const noexcept {
    return wiring_.mapped == nullptr && arrived_ - consumed.lines > kMessageLines;
  }
  // Does a line say of what the peer consumed only what was known?
  bool knows(const MessageLine& line) const noexcept {
    return line.lines == uint16_t(theirs_.lines) && line.fields.units == theirs_.units &&
           line.fields.parts == theirs_.parts;
  }
  // What the peer consumed. False when it cannot have.
  bool credited(const MessageLine& line) noexcept;
  uint32_t peer_parts() const noexcept { return theirs_.parts; }
  void parts_sent(uint32_t count) noexcept { parts_ += count; }
  bool room_for_parts(uint32_t count) const noexcept {
    return parts_ - theirs_.parts + count <= wiring_.their_rings.parts;
  }
  uint32_t parts() const noexcept { return parts_; }

  MessageCredit consumed;  // what this side consumed
  // The peer may wait to know that the lines now taken were read.
  void tell_soon() noexcept { urgent_ = true; }
  // Enough that the peer might wait for it? `streamed`: it sends parts now. Else whatever makes it send some
  // tells it.
  bool owes(bool streamed) const noexcept {
    return urgent_ || owes_after(0, 0) ||
           (streamed &&
            consumed.parts - told_.parts >= std::max(wiring_.own_rings.parts / 8, kRings.parts / 2));
  }

 private:
  // The next line, stored to where the peer reads it: all of a short message but its bytes and the head.
  // `at`: its `n` units. always_inline: they are most of a short message's time.
  [[gnu::always_inline]] MessageLine& begin_short(uint32_t tag, uint32_t bytes, uint32_t n,
                                                  uint32_t& at) noexcept {
    MessageLine& to = wiring_.mapped->lines[tail_ % kMessageLines];
    at = place_units(units_, n);
    units_ = at + n;
    to.fields.units = consumed.units;
    to.fields.parts = consumed.parts;
    to.fields.tag = tag;
    to.fields.bytes = bytes;
    return to;
  }
  [[gnu::always_inline]] void end_short(MessageLine& to, uint64_t head) noexcept {
    message_head(to).store(head, std::memory_order_release);
    told_ = consumed;
    urgent_ = false;
    posted_ = left_ = short_ = ++tail_;
    fetch_next();
  }
  // For storing: the next line. Of one further on the peer, who is close behind, may be fetching it for
  // reading.
  void fetch_next() const noexcept { prefetch_for_write(&wiring_.mapped->lines[tail_ % kMessageLines]); }
  // The same of lines and units, after so many more.
  bool owes_after(uint32_t lines, uint32_t units) const noexcept {
    return consumed.lines + lines - told_.lines >= kCreditLines ||
           consumed.units + units - told_.units >= kCreditUnits;
  }
  size_t collect(std::span<Transfer> transfers, std::span<uint32_t> of, uint32_t& lines) const noexcept;
  Transfer put(const void* home, size_t bytes, Signal signal) const noexcept;
  void store() noexcept;
  bool post() noexcept;
  void note_left() noexcept;

  MessageWiring wiring_;
  uint32_t tail_ = 0, posted_ = 0, left_ = 0, units_ = 0, parts_ = 0;  // written
  uint32_t arrived_ = 0;  // the peer's, not mapped: as its signals said last
  uint32_t short_ = 0;    // lines up to the latest short message
  MessageCredit theirs_, told_;
  bool urgent_ = false;
  // Of each line that is not posted: the units to put before it.
  struct Payload {
    uint32_t unit = 0, bytes = 0;
  };
  Payload payload_[kMessageLines];
};

}  // namespace plait::transport
