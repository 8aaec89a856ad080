// The mailbox: streams of messages between two ranks, written once above Domain. A stream is a FIFO of
// 64-byte lines in the receiver's memory, each holding 56 bytes and, last, a word `sequence << 32 | tag` that
// says both that the line has landed and what it belongs to; bulk payload goes through 16 KiB parts,
// announced by a line each. The receiver returns credit for lines and parts it has consumed. Where the peer's
// memory is mapped everything is a store, and some more bytes lie beside each line; elsewhere it is a put
// with a signal.
//
// The tag is compared whole with what the receiver expects, so checking that both sides run the same
// operation costs nothing. Its lowest bit says that the line holds a Descriptor instead of payload.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/bytes.h"
#include "base/pages.h"
#include "base/prefetch.h"
#include "transport/landings.h"
#include "transport/transport.h"

namespace plait::transport {

constexpr uint32_t kLineBytes = 64;
constexpr uint32_t kLinePayload = 56;
constexpr uint32_t kLines = 32;  // of a stream; a power of two, and as many as a word has bits
constexpr uint32_t kPartBytes = 16 * 1024;
constexpr uint32_t kParts = 16;  // of a message at most
// Of a stream; a power of two. Where the peer maps them they are as large as the cache of a core, so that a
// part that is stored to has mostly left that of its reader, which is faster (MappedMessageMemory). Elsewhere
// the next message need not wait for credit.
constexpr uint32_t kRingParts = 32;
constexpr uint32_t kBesideBytes = 4160;  // that lie beside a line; whole cache lines
constexpr uint32_t kStreams = 4;         // of a link and direction
constexpr uint32_t kDescriptorBit = 1;   // of a tag

struct alignas(kLineBytes) Line {
  std::byte payload[kLinePayload];
  std::atomic<uint64_t> word;
};
static_assert(sizeof(Line) == kLineBytes);

struct alignas(kLineBytes) CreditLine {
  std::atomic<uint64_t> consumed;  // lines in the low half, parts in the high half; written by the receiver
};

// What one rank keeps for one peer: the streams that the peer writes, and the credit for the streams it
// writes itself. It begins kHeadOffset behind the beginning of a page, so that small messages, which go
// through the first stream, touch one page. Behind it, from the beginning of another page on, lie the parts,
// by stream.
constexpr size_t kHeadOffset = 1152;
struct LinkHead {
  CreditLine credit[kStreams];
  std::byte unused[kPageBytes - kHeadOffset - kStreams * sizeof(CreditLine) - kLines * kLineBytes];
  Line lines[kStreams][kLines];
};
constexpr size_t kPartsOffset =
    round_up(kHeadOffset + sizeof(LinkHead), kPageBytes) - kHeadOffset;  // from the head
struct LinkMemory : LinkHead {
  std::byte behind[kPartsOffset - sizeof(LinkHead)];
  std::byte parts[kStreams][kRingParts][kPartBytes];
  std::byte beside[kStreams][kLines][kBesideBytes];  // of the lines, where memory is mapped
};

// Counters of an endpoint that mailboxes use where memory is not mapped: for stream s, 4 * s: lines consumed,
// 4 * s + 1: lines landed, 4 * s + 2: parts consumed. The odd ones carry the bulk: TCP gives it a connection
// of its own, so that credit does not wait behind it. Behind those of all streams, for each: how
// often the peer has asked for parts and given them back (odd: it has them, or waits for them), and how often
// it was granted them.
constexpr uint16_t kMailboxCounters = 8 * kStreams;

// Cookies from here on are of Dones that say that something has left: hand them to Mailbox::left(). A mailbox
// has kMailboxCookies of them.
constexpr uint64_t kMailboxCookie = uint64_t(1) << 48;
constexpr uint64_t kMailboxCookies = kStreams * 32;

constexpr uint64_t line_word(uint32_t sequence, uint32_t tag) noexcept {
  return uint64_t(sequence) << 32 | tag;
}

// Sequence numbers wrap; `a` is at or after `b`.
constexpr bool reached(uint32_t a, uint32_t b) noexcept { return int32_t(a - b) >= 0; }

// A part that is not mapped by the peer, until it is posted and its source is free.
struct PartOut {
  const std::byte* from;  // null: the slot of the shadow
  uint32_t bytes;
};

// What a rank keeps, zeroed, to put from into a peer's LinkMemory: a copy of it, and what of the parts
// is still to be put.
struct alignas(kPageBytes) Shadow : LinkMemory {
  PartOut parts_out[kStreams][kRingParts];
};

// How both ends of a stream get at the memory of the other side.
struct Wire {
  Endpoint* endpoint = nullptr;
  RemoteRegion* remote = nullptr;  // the peer's memory that holds its LinkMemory for us
  uint64_t remote_offset = 0;      // where in it
  LinkHead* mapped = nullptr;      // the same by load and store, or null
  Shadow* shadow = nullptr;        // unmapped only
  const Region* shadow_region = nullptr;
  uint64_t cookie = 0;            // unmapped: a multiple of kMailboxCookies, added to kMailboxCookie
  bool any_source = false;        // unmapped: puts may come from memory that is not exposed
  bool drops_pages = false;       // unmapped: no device holds on to pages, and those of parts are given back
  uint16_t max_add = UINT16_MAX;  // of the domain
  uint32_t together = 4;          // unmapped: parts of one put at most, Outbox::kMostTogether at most
  Landings* landings =
      nullptr;  // unmapped: of the own parts, a ring a stream; null: they land where they are
};

// The sending end of a stream. Fill next(), publish(); ask room() first.
class Outbox {
 public:
  static constexpr uint32_t kMostTogether = 16;  // parts of one put

  // Keeps a pointer to `wire`, too.
  void bind(const Wire& wire, LinkHead* own, uint32_t stream) noexcept;

  // May `lines` more lines be written? Looks at the peer's credit only when the cached one does not suffice.
  bool room(uint32_t lines) noexcept {
    return tail_ + lines - credit_lines_ <= kLines || (refresh(), tail_ + lines - credit_lines_ <= kLines);
  }
  bool room_for_parts(uint32_t parts) noexcept {
    return parts_ + parts - credit_parts_ <= usable_parts_ ||
           (attach(), refresh(), parts_ + parts - credit_parts_ <= usable_parts_);
  }
  Line& next() noexcept { return ring_[tail_ % kLines]; }
  // Mapped: kBesideBytes that next() makes visible, too: what is too long for it takes one line, not many.
  std::byte* beside() noexcept { return beside_ + size_t(tail_ % kLines) * kBesideBytes; }
  // The i-th part after the last one published.
  std::byte* part(uint32_t i) noexcept { return slots_ + size_t((parts_ + i) % kRingParts) * kPartBytes; }

  // Makes next() visible under `tag`.
  void publish(uint32_t tag) noexcept {
    Line& line = next();
    line.word.store(line_word(++tail_, tag), std::memory_order_release);
    if (mapped()) prefetch_for_write(&ring_[tail_ % kLines]);
  }
  // Publishes next() as the announcement of part(0), which holds `bytes` bytes.
  void publish_part(uint32_t tag, uint32_t bytes) noexcept { publish_part(tag, bytes, nullptr); }
  // The same for bytes that lie at `from` and stay as they are until sources_free(). Only where
  // takes_sources().
  void publish_part(uint32_t tag, uint32_t bytes, const std::byte* from) noexcept;
  // May parts lie elsewhere than in part()?
  bool takes_sources() const noexcept { return wire_->any_source; }
  // Has the transport read all that publish_part() was told to read elsewhere, or is there none?
  bool sources_free() const noexcept { return busy_sources_ == 0; }
  // Unmapped: has all that was published left, so that it arrives though this rank polls no more?
  bool drained() const noexcept { return posted_ == tail_ && leaving_ == 0 && busy_sources_ == 0; }

  uint32_t sent() const noexcept { return tail_; }
  // Has the peer consumed the line that made sent() equal to `sequence`?
  bool consumed(uint32_t sequence) noexcept {
    if (reached(credit_lines_, sequence)) return true;
    refresh();
    return reached(credit_lines_, sequence);
  }
  // Credit that came with a line of the other direction.
  void acknowledged(uint32_t lines, uint32_t parts) noexcept {
    if (reached(lines, credit_lines_)) credit_lines_ = lines;
    if (reached(parts, credit_parts_)) credit_parts_ = parts;
  }
  // Unmapped: lines published and not posted.
  uint32_t unposted() const noexcept { return tail_ - posted_; }
  // How many parts one put takes, so that fewer are worth waiting for more.
  uint32_t together() const noexcept { return wire_->together; }
  // Unmapped: posts what was published and what the endpoint refused before. True when nothing is left.
  bool flush() noexcept { return posted_ == tail_ || (announcing_ == 0 ? post_lines() : post_all()); }
  void left(uint32_t what) noexcept;

  // Gives back the memory of the parts: where the peer maps it, this side alone writes there; else this side
  // says that it will not, and room_for_parts() asks for them anew. False: the peer has some to read.
  bool rest_parts() noexcept;
  // Has the peer read all lines?
  bool all_consumed() noexcept { return consumed(tail_); }

 private:
  struct Batch;
  bool mapped() const noexcept { return part_out_ == nullptr; }
  void refresh() noexcept;
  void attach() noexcept;
  bool detach() noexcept;
  uint64_t cookie(uint32_t what) const noexcept;
  static constexpr uint32_t bit_of(uint32_t line) noexcept { return uint32_t(1) << line % kLines; }
  bool announces(uint32_t line) const noexcept { return (announcing_ & bit_of(line)) != 0; }
  uint32_t parts_together(uint32_t at, uint32_t part) const noexcept;
  void collect(Batch& batch) const noexcept;
  void advance(const Batch& batch, size_t taken) noexcept;
  bool post_lines() noexcept;
  bool post_all() noexcept;

  Line* ring_ = nullptr;
  std::byte *slots_ = nullptr, *beside_ = nullptr;
  std::atomic<uint64_t>* credit_ = nullptr;
  uint32_t tail_ = 0, parts_ = 0, credit_lines_ = 0, credit_parts_ = 0;
  uint32_t usable_parts_ = kRingParts;  // 0: none, until the peer grants them
  uint32_t stream_ = 0;
  const Wire* wire_ = nullptr;
  // Unmapped: asked for parts, gave them back, asked ...; and of this what the peer was told.
  uint32_t turns_ = 0, told_turns_ = 0;
  uint32_t rested_parts_ = 0;  // the memory of parts up to here was given back
  // Unmapped: how far flush() got, and what it is to post.
  uint32_t posted_ = 0, posted_parts_ = 0;
  uint32_t busy_sources_ = 0;
  uint32_t leaving_ = 0;         // batches of lines that were posted
  uint32_t announcing_ = 0;      // a bit a line: it announces a part that is not posted yet
  PartOut* part_out_ = nullptr;  // by slot
};

// The receiving end of a stream. peek() at lines, consume() them in order.
class Inbox {
 public:
  // Keeps a pointer to `wire`, too.
  void bind(const Wire& wire, LinkHead* own, uint32_t stream) noexcept;

  // The i-th line not yet consumed, or null while it has not landed under `tag`.
  const Line* peek(uint32_t tag, uint32_t i = 0) const noexcept {
    const uint32_t sequence = head_ + i + 1;
    const Line& line = ring_[(sequence - 1) % kLines];
    if (landed_ != nullptr && !reached(uint32_t(landed_->load(std::memory_order_acquire)), sequence))
      return nullptr;
    return line.word.load(std::memory_order_acquire) == line_word(sequence, tag) ? &line : nullptr;
  }
  // The line that peek(tag) found.
  const Line& front() const noexcept { return ring_[head_ % kLines]; }
  // Mapped: what lies beside it.
  const std::byte* beside() const noexcept { return beside_ + size_t(head_ % kLines) * kBesideBytes; }
  // The tag of the next line when it has landed: for finding out why peek() finds nothing.
  bool peek_tag(uint32_t* tag) const noexcept;
  // The i-th part not yet consumed; announced by a line.
  const std::byte* part(uint32_t i) const noexcept {
    const uint32_t slot = (parts_ + i) % kRingParts;
    return wire_->landings == nullptr ? slots_ + size_t(slot) * kPartBytes
                                      : wire_->landings->at(stream_, slot);
  }
  // Unmapped: the next `parts`, which are whole, are to land at `to` one behind the other, where they are
  // stored to from now on. It may come too late for some, or the network cannot: ask part().
  void divert(uint32_t parts, std::byte* to) noexcept {
    if (wire_->landings != nullptr) wire_->landings->divert(stream_, parts_ % kRingParts, parts, to);
  }

  void consume(uint32_t lines) noexcept { head_ += lines; }
  void consume_part() noexcept {
    if (wire_->landings != nullptr) wire_->landings->settle(stream_, parts_ % kRingParts);
    head_++;
    parts_++;
  }
  uint32_t lines() const noexcept { return head_; }
  uint32_t parts() const noexcept { return parts_; }
  // The credit travels with a line of the other direction: nothing more to send for now.
  void credit_carried() noexcept {
    credited_lines_ = head_;
    credited_parts_ = parts_;
  }
  // Could the peer not send a whole message for want of it?
  bool owes_parts() const noexcept { return parts_ - credited_parts_ > kRingParts - kParts; }
  bool owes_credit() const noexcept { return credited_lines_ != head_ || credited_parts_ != parts_; }
  // Sends credit if the peer might soon need it.
  void maybe_credit() noexcept {
    if (head_ - credited_lines_ >= lines_due_ || parts_ - credited_parts_ >= parts_due_) credit();
  }
  // Unmapped: the peer's wishes for parts: the memory of those that it gave back goes, what it asks for is
  // granted.
  void answer_turns() noexcept {
    const auto turns = uint32_t(asked_->load(std::memory_order_acquire));
    if (turns != turns_ || grants_ != granted_by(turns)) answer(turns);
  }
  // Sends all credit now. Unmapped and refused: false; call again.
  bool credit() noexcept;

 private:
  static constexpr uint32_t granted_by(uint32_t turns) noexcept { return (turns + 1) / 2; }
  void answer(uint32_t turns) noexcept;

  const Line* ring_ = nullptr;
  const std::byte *slots_ = nullptr, *beside_ = nullptr;
  std::atomic<uint64_t>* credit_ = nullptr;        // mapped: the peer's word
  const std::atomic<uint64_t>* landed_ = nullptr;  // unmapped: lines
  const std::atomic<uint64_t>* asked_ = nullptr;   // unmapped: for parts
  uint32_t head_ = 0, parts_ = 0, credited_lines_ = 0, credited_parts_ = 0;
  uint32_t lines_due_ = kLines / 2, parts_due_ = kParts / 4;  // more where credit is a message of its own
  uint32_t signalled_lines_ = 0, signalled_parts_ = 0;        // unmapped: what the peer's counters say
  uint32_t turns_ = 0, grants_ = 0;                           // unmapped: the peer's, and what it was granted
  uint32_t stream_ = 0;
  const Wire* wire_ = nullptr;
};

// Both directions of all streams with one peer.
class Mailbox {
 public:
  // `own` is this rank's LinkMemory for the peer, zeroed, exposed to it with
  // Access::both. Keeps pointers only.
  Mailbox(const Wire& wire, LinkHead* own);
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  Outbox& out(uint32_t stream) noexcept { return out_[stream]; }
  Inbox& in(uint32_t stream) noexcept { return in_[stream]; }
  // After the last publish or credit of a burst. Mapped: wakes the peer if it sleeps; else posts.
  void notify() noexcept { mapped() ? wire_.endpoint->notify() : flush(); }
  // Unmapped: posts what was published or refused, and credit that is due. Call it after each poll. Not
  // inlined into what runs where memory is mapped.
  [[gnu::noinline]] void flush() noexcept;
  // Unmapped: nothing else is to be done now: credit for parts, which otherwise travels with messages, goes
  // out.
  void idle() noexcept;
  // For an idle moment: gives back the memory that larger messages took, here and at the peer. False when not
  // all of it can be yet. System calls.
  bool rest() noexcept;
  // Nothing lands any more where Inbox::divert() wanted it.
  void recall() noexcept {
    if (wire_.landings != nullptr) wire_.landings->recall();
  }
  // Takes the cookie of a Done that is kMailboxCookie or above.
  void left(uint64_t cookie) noexcept;
  // Unmapped: Outbox::drained() of all streams.
  bool drained() const noexcept;
  bool mapped() const noexcept { return wire_.mapped != nullptr; }

 private:
  bool rest_lines() noexcept;
  bool rest_shadow() noexcept;
  uint32_t lines_sent(uint32_t from_stream) const noexcept;

  const Wire wire_;            // of all streams
  uint32_t rested_lines_ = 0;  // the memory of lines up to here was given back
  Outbox out_[kStreams];
  Inbox in_[kStreams];
};

}  // namespace plait::transport
