#include "transport/mailbox.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>

namespace plait::transport {
namespace {

constexpr uint32_t kCookies = 32;  // of an outbox

uint16_t lines_counter(uint32_t stream) noexcept { return uint16_t(4 * stream); }
uint16_t landed_counter(uint32_t stream) noexcept { return uint16_t(4 * stream + 1); }
uint16_t parts_counter(uint32_t stream) noexcept { return uint16_t(4 * stream + 2); }
// Even: they are small and urgent.
uint16_t turns_counter(uint32_t stream) noexcept { return uint16_t(4 * kStreams + 2 * stream); }
uint16_t grants_counter(uint32_t stream) noexcept { return uint16_t(6 * kStreams + 2 * stream); }

// Offset in LinkMemory of something inside `base`.
uint64_t offset_in(const LinkHead* base, const void* p) noexcept {
  return uint64_t(static_cast<const std::byte*>(p) - reinterpret_cast<const std::byte*>(base));
}

std::byte* ring_of(LinkHead* head, uint32_t stream) noexcept {
  return reinterpret_cast<std::byte*>(head) + kPartsOffset + size_t(stream) * kRingParts * kPartBytes;
}
std::byte* beside_of(LinkHead* head, uint32_t stream) noexcept {
  return ring_of(head, kStreams) + size_t(stream) * kLines * kBesideBytes;
}
static_assert(kStreams <= Landings::kMostRings && kRingParts <= Landings::kMostPieces);
static_assert(sizeof(LinkMemory) ==
              kPartsOffset + size_t(kStreams) * (kRingParts * kPartBytes + kLines * kBesideBytes));
// So that lines of the other streams are whole pages.
static_assert((kHeadOffset + offsetof(LinkHead, lines[1])) % kPageBytes == 0);

Transfer put(const Wire& wire, const void* home, const std::byte* from, size_t bytes,
             Signal signal) noexcept {
  Transfer t;
  t.signal = signal;
  auto* data = const_cast<std::byte*>(from);
  t.local = {data, bytes, from == home ? wire.shadow_region : nullptr};
  t.remote = {wire.remote, wire.remote_offset + offset_in(wire.shadow, home), bytes};
  return t;
}

// A counter of the peer's, and what its sum is to be. What messages carried in between counts, too, so it may
// be far.
struct Sum {
  uint16_t counter;
  uint32_t& from;
  uint32_t to;
};

// Adds to the peer's counters until all are where they are to be, together where that is one call to the
// kernel.
bool signal_up_to(const Wire& wire, std::initializer_list<Sum> sums) noexcept {
  constexpr size_t kMost = 2;
  // Asked at every poll, and mostly in vain.
  while (std::ranges::any_of(sums, [](const Sum& sum) { return sum.from != sum.to; })) {
    Transfer transfers[kMost];
    uint32_t* of[kMost] = {};
    size_t n = 0;
    for (const Sum& sum : sums) {
      if (sum.from == sum.to) continue;
      of[n] = &sum.from;
      transfers[n].signal = {sum.counter, uint16_t(std::min<uint32_t>(sum.to - sum.from, wire.max_add))};
      transfers[n++].remote = {wire.remote, wire.remote_offset, 0};
    }
    const size_t taken = wire.endpoint->post({transfers, n});
    for (size_t i = 0; i < taken; i++) *of[i] += transfers[i].signal.add;
    if (taken != n) return false;
  }
  return true;
}

}  // namespace

void Outbox::bind(const Wire& wire, LinkHead* own, uint32_t stream) noexcept {
  wire_ = &wire;
  stream_ = stream;
  LinkHead* target = wire.mapped != nullptr ? wire.mapped : wire.shadow;
  ring_ = target->lines[stream];
  slots_ = ring_of(target, stream);
  beside_ = beside_of(target, stream);
  usable_parts_ = wire.mapped == nullptr && wire.drops_pages ? 0 : kRingParts;
  credit_ = &own->credit[stream].consumed;
  if (wire.mapped == nullptr) part_out_ = wire.shadow->parts_out[stream];
}

void Outbox::refresh() noexcept {
  if (mapped()) {
    const uint64_t consumed = credit_->load(std::memory_order_acquire);
    acknowledged(uint32_t(consumed), uint32_t(consumed >> 32));
  } else {
    acknowledged(uint32_t(wire_->endpoint->counter(lines_counter(stream_)).load(std::memory_order_acquire)),
                 uint32_t(wire_->endpoint->counter(parts_counter(stream_)).load(std::memory_order_acquire)));
  }
}

void Outbox::publish_part(uint32_t tag, uint32_t bytes, const std::byte* from) noexcept {
  if (!mapped()) {
    part_out_[parts_ % kRingParts] = {from, bytes};
    busy_sources_ += from != nullptr;
    announcing_ |= bit_of(tail_);
  }
  parts_++;
  publish(tag);
}

// Transfers to post together, each with the lines, or the parts, that are posted once it is taken.
struct Outbox::Batch {
  static constexpr size_t kMost = 16;
  Transfer transfers[kMost];
  uint32_t lines[kMost] = {}, parts[kMost] = {};
  size_t size = 0;
};

// `what` has left: 0: a batch of lines; else so many parts. Which they were does not matter, and would not be
// known: the peer may have consumed them, and others lie in their slots, before the Done comes.
uint64_t Outbox::cookie(uint32_t what) const noexcept {
  static_assert(kMostTogether < kCookies && kMailboxCookies == kStreams * kCookies);
  return kMailboxCookie + wire_->cookie + stream_ * kCookies + what;
}

// How many of the parts from the posted_parts_-th one of line `at` on lie side by side, here and there.
uint32_t Outbox::parts_together(uint32_t at, uint32_t part) const noexcept {
  uint32_t n = 1;
  for (; n < wire_->together && at + n != tail_ && announces(at + n) && (part + n) % kRingParts != 0; n++) {
    const PartOut &before = part_out_[(part + n - 1) % kRingParts],
                  &next = part_out_[(part + n) % kRingParts];
    const bool side_by_side =
        before.from == nullptr ? next.from == nullptr : next.from == before.from + before.bytes;
    if (before.bytes != kPartBytes || !side_by_side) break;
  }
  return n;
}

// Parts go right before the lines that announce them. Lines keep their place in the shadow until the peer has
// consumed them, so nobody waits for a Done of theirs.
void Outbox::collect(Batch& batch) const noexcept {
  uint32_t part = posted_parts_, announced = 0;  // parts in the batch whose lines are still to come
  for (uint32_t at = posted_; at != tail_ && batch.size < Batch::kMost;) {
    Transfer& t = batch.transfers[batch.size];
    if (announced == 0 && announces(at)) {
      const uint32_t n = parts_together(at, part), p = part % kRingParts;
      const std::byte* home = slots_ + size_t(p) * kPartBytes;
      size_t bytes = 0;
      for (uint32_t i = 0; i < n; i++) bytes += part_out_[p + i].bytes;
      t = put(*wire_, home, part_out_[p].from != nullptr ? part_out_[p].from : home, bytes,
              {landed_counter(stream_), 0});
      if (part_out_[p].from != nullptr) {
        t.when = When::reusable;
        t.cookie = cookie(n);
      }
      batch.parts[batch.size++] = announced = n;
      part += n;
      continue;
    }
    // Lines, as far as they lie side by side: those of the parts before them, or those without parts.
    uint32_t n = 0;
    const uint32_t most = announced != 0 ? announced : kLines;
    while (n < most && at + n != tail_ && (n == 0 || (at + n) % kLines != 0) &&
           (announced != 0 || !announces(at + n))) {
      n++;
    }
    const auto* line = reinterpret_cast<const std::byte*>(&ring_[at % kLines]);
    t = put(*wire_, line, line, size_t(n) * kLineBytes, {landed_counter(stream_), uint16_t(n)});
    batch.lines[batch.size++] = n;
    at += n;
    announced -= std::min(announced, n);
  }
}

void Outbox::advance(const Batch& batch, size_t taken) noexcept {
  for (size_t i = 0; i < taken; i++) {
    for (uint32_t k = 0; k < batch.parts[i]; k++) announcing_ &= ~bit_of(posted_ + k);
    posted_parts_ += batch.parts[i];
    posted_ += batch.lines[i];
  }
}

// What most messages are: no parts are to be told of.
bool Outbox::post_lines() noexcept {
  while (posted_ != tail_) {
    const uint32_t n = std::min(tail_ - posted_, kLines - posted_ % kLines);  // side by side
    const auto* line = reinterpret_cast<const std::byte*>(&ring_[posted_ % kLines]);
    Transfer t = put(*wire_, line, line, size_t(n) * kLineBytes, {landed_counter(stream_), uint16_t(n)});
    t.when = When::reusable;
    t.cookie = cookie(0);
    if (wire_->endpoint->post({&t, 1}) != 1) return false;
    posted_ += n;
    leaving_++;
  }
  return true;
}

bool Outbox::post_all() noexcept {
  while (posted_ != tail_) {
    Batch batch;
    collect(batch);
    Transfer& last = batch.transfers[batch.size - 1];
    if (last.when == When::never) {
      last.when = When::reusable;
      last.cookie = cookie(0);
    }
    const size_t taken = wire_->endpoint->post({batch.transfers, batch.size});
    advance(batch, taken);
    leaving_ += taken == batch.size && last.cookie == cookie(0);
    if (taken != batch.size) return false;
  }
  return true;
}

void Outbox::left(uint32_t what) noexcept { (what == 0 ? leaving_ : busy_sources_) -= what == 0 ? 1 : what; }

bool Outbox::rest_parts() noexcept {
  if (parts_ == rested_parts_) return true;
  refresh();
  if (credit_parts_ != parts_) return false;
  if (!mapped()) return detach();
  drop_shared_pages(slots_, size_t(kRingParts) * kPartBytes);
  rested_parts_ = parts_;
  return true;
}

// Asks for parts, if that was not done, and looks whether they were granted.
void Outbox::attach() noexcept {
  if (usable_parts_ != 0) return;
  turns_ |= 1;
  (void)signal_up_to(*wire_, {{turns_counter(stream_), told_turns_, turns_}});
  const auto granted =
      uint32_t(wire_->endpoint->counter(grants_counter(stream_)).load(std::memory_order_acquire));
  if (granted == (turns_ + 1) / 2) usable_parts_ = kRingParts;
}

// All parts were consumed.
bool Outbox::detach() noexcept {
  if (!wire_->drops_pages) return true;
  if (!drained()) return false;
  if (usable_parts_ != 0) {
    usable_parts_ = 0;
    turns_++;
  }
  if (!signal_up_to(*wire_, {{turns_counter(stream_), told_turns_, turns_}})) return false;
  rested_parts_ = parts_;
  return true;
}

void Inbox::bind(const Wire& wire, LinkHead* own, uint32_t stream) noexcept {
  wire_ = &wire;
  stream_ = stream;
  ring_ = own->lines[stream];
  slots_ = ring_of(own, stream);
  beside_ = beside_of(own, stream);
  if (wire.mapped != nullptr) {
    credit_ = &wire.mapped->credit[stream].consumed;
  } else {
    landed_ = &wire.endpoint->counter(landed_counter(stream));
    asked_ = &wire.endpoint->counter(turns_counter(stream));
    // Beyond what a message of most parts takes: there is room for the next one, whose peer's may carry the
    // credit.
    lines_due_ = kParts + 1;
    parts_due_ = kRingParts * 3 / 4;
  }
}

bool Inbox::peek_tag(uint32_t* tag) const noexcept {
  if (landed_ != nullptr && !reached(uint32_t(landed_->load(std::memory_order_acquire)), head_ + 1))
    return false;
  const uint64_t word = ring_[head_ % kLines].word.load(std::memory_order_acquire);
  if (uint32_t(word >> 32) != head_ + 1) return false;
  *tag = uint32_t(word);
  return true;
}

// Who gave its parts back writes to none before the next grant.
void Inbox::answer(uint32_t turns) noexcept {
  if (turns != turns_ && turns % 2 == 0 && wire_->drops_pages)
    drop_pages(const_cast<std::byte*>(slots_), size_t(kRingParts) * kPartBytes);
  turns_ = turns;
  (void)signal_up_to(*wire_, {{grants_counter(stream_), grants_, granted_by(turns)}});
}

bool Inbox::credit() noexcept {
  if (credit_ != nullptr) {
    credit_->store(uint64_t(parts_) << 32 | head_, std::memory_order_release);
    credit_carried();
    return true;
  }
  const bool sent = signal_up_to(*wire_, {{lines_counter(stream_), signalled_lines_, head_},
                                          {parts_counter(stream_), signalled_parts_, parts_}});
  if (sent) credit_carried();
  return sent;
}

Mailbox::Mailbox(const Wire& wire, LinkHead* own) : wire_(wire) {
  for (uint32_t s = 0; s < kStreams; s++) {
    out_[s].bind(wire_, own, s);
    in_[s].bind(wire_, own, s);
  }
}

void Mailbox::flush() noexcept {
  if (mapped()) return;
  for (auto& out : out_) out.flush();
  // Credit that was refused, or is due.
  for (auto& in : in_) {
    in.maybe_credit();
    in.answer_turns();
  }
}

void Mailbox::idle() noexcept {
  if (mapped()) return;
  for (auto& in : in_) {
    if (in.owes_parts()) in.credit();
  }
}

uint32_t Mailbox::lines_sent(uint32_t from) const noexcept {
  uint32_t lines = 0;
  for (uint32_t s = from; s < kStreams; s++) lines += out_[s].sent();
  return lines;
}

// Not of the first stream, which is that of small messages and keeps its page.
bool Mailbox::rest_lines() noexcept {
  const uint32_t sent = lines_sent(1);
  if (sent == rested_lines_) return true;
  if (!std::all_of(out_ + 1, out_ + kStreams, [](Outbox& out) { return out.all_consumed(); })) return false;
  drop_shared_pages(reinterpret_cast<std::byte*>(&wire_.mapped->lines[1]),
                    kPartsOffset - offsetof(LinkHead, lines[1]));
  rested_lines_ = sent;
  return true;
}

// What has left was read from there for the last time.
bool Mailbox::rest_shadow() noexcept {
  const uint32_t sent = lines_sent(0);
  if (!wire_.drops_pages || sent == rested_lines_) return true;
  if (!drained()) return false;
  drop_pages(reinterpret_cast<std::byte*>(wire_.shadow), sizeof(Shadow));
  rested_lines_ = sent;
  return true;
}

bool Mailbox::rest() noexcept {
  bool all = true;
  for (uint32_t s = 0; s < kStreams; s++) {
    if (in_[s].owes_credit()) (void)in_[s].credit();  // so that the peer can rest, too
    all = out_[s].rest_parts() && all;
  }
  // Parts that the peer has not consumed may have to be read again.
  return mapped() ? rest_lines() && all : all && rest_shadow();
}

void Mailbox::left(uint64_t cookie) noexcept {
  const auto which = uint32_t((cookie - kMailboxCookie) % kMailboxCookies);
  out_[which / kCookies].left(which % kCookies);
}

bool Mailbox::drained() const noexcept {
  return std::all_of(std::begin(out_), std::end(out_), [](const Outbox& out) { return out.drained(); });
}

}  // namespace plait::transport
