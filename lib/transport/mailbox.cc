#include "transport/mailbox.h"

namespace plait::transport {
namespace {

uint16_t landed_counter(uint32_t stream) noexcept { return uint16_t(3 * stream); }
uint16_t lines_counter(uint32_t stream) noexcept { return uint16_t(3 * stream + 1); }
uint16_t parts_counter(uint32_t stream) noexcept { return uint16_t(3 * stream + 2); }

// Offset in LinkMemory of something inside `base`.
uint64_t offset_in(const LinkMemory* base, const void* p) noexcept {
  return uint64_t(static_cast<const std::byte*>(p) - reinterpret_cast<const std::byte*>(base));
}

bool post_one(const Wire& wire, const Transfer& transfer) noexcept {
  return wire.endpoint->post({&transfer, 1}) == 1;
}

bool put(const Wire& wire, const void* data, size_t bytes, Signal signal) noexcept {
  auto* from = static_cast<std::byte*>(const_cast<void*>(data));
  Transfer t;
  t.signal = signal;
  t.local = {from, bytes, wire.shadow_region};
  t.remote = {wire.remote, wire.remote_offset + offset_in(wire.shadow, data), bytes};
  return post_one(wire, t);
}

bool signal_only(const Wire& wire, uint16_t counter, uint32_t add) noexcept {
  Transfer t;
  t.signal = {counter, uint16_t(add)};
  t.remote = {wire.remote, wire.remote_offset, 0};
  return post_one(wire, t);
}

}  // namespace

void Outbox::bind(const Wire& wire, LinkMemory* own, uint32_t stream) noexcept {
  wire_ = wire;
  stream_ = stream;
  LinkMemory* target = wire.mapped != nullptr ? wire.mapped : wire.shadow;
  ring_ = target->lines[stream];
  slots_ = target->parts[stream][0];
  credit_ = &own->credit[stream].consumed;
}

void Outbox::refresh() noexcept {
  if (wire_.mapped != nullptr) {
    const uint64_t consumed = credit_->load(std::memory_order_acquire);
    acknowledged(uint32_t(consumed), uint32_t(consumed >> 32));
  } else {
    acknowledged(uint32_t(wire_.endpoint->counter(lines_counter(stream_)).load(std::memory_order_acquire)),
                 uint32_t(wire_.endpoint->counter(parts_counter(stream_)).load(std::memory_order_acquire)));
  }
}

void Outbox::publish_part(uint32_t tag, uint32_t bytes) noexcept {
  if (wire_.mapped == nullptr) {
    part_bytes_[parts_ % kParts] = bytes;
    is_part_[tail_ % kLines] = 1;
  }
  parts_++;
  publish(tag);
}

// Lines keep their place in the shadow until the peer has consumed them, so nobody waits for a Done here.
bool Outbox::post_line(uint32_t sequence) noexcept {
  const uint32_t slot = (sequence - 1) % kLines;
  if (is_part_[slot] != 0) {
    const uint32_t p = posted_parts_ % kParts;
    if (!put(wire_, slots_ + size_t(p) * kPartBytes, part_bytes_[p], {landed_counter(stream_), 0}))
      return false;
    is_part_[slot] = 0;
    posted_parts_++;
  }
  return put(wire_, &ring_[slot], kLineBytes, {landed_counter(stream_), 1});
}

bool Outbox::flush() noexcept {
  while (posted_ != tail_) {
    if (!post_line(posted_ + 1)) return false;
    posted_++;
  }
  return true;
}

void Inbox::bind(const Wire& wire, LinkMemory* own, uint32_t stream) noexcept {
  wire_ = wire;
  stream_ = stream;
  ring_ = own->lines[stream];
  slots_ = own->parts[stream][0];
  if (wire.mapped != nullptr) {
    credit_ = &wire.mapped->credit[stream].consumed;
  } else {
    landed_ = &wire.endpoint->counter(landed_counter(stream));
  }
}

bool Inbox::peek_tag(uint32_t* tag) const noexcept {
  const uint64_t word = ring_[head_ % kLines].word.load(std::memory_order_acquire);
  if (uint32_t(word >> 32) != head_ + 1) return false;
  *tag = uint32_t(word);
  return true;
}

bool Inbox::credit() noexcept {
  if (credit_ != nullptr) {
    credit_->store(uint64_t(parts_) << 32 | head_, std::memory_order_release);
    credit_carried();
    return true;
  }
  if (head_ != credited_lines_) {
    if (!signal_only(wire_, lines_counter(stream_), head_ - credited_lines_)) return false;
    credited_lines_ = head_;
  }
  if (parts_ != credited_parts_) {
    if (!signal_only(wire_, parts_counter(stream_), parts_ - credited_parts_)) return false;
    credited_parts_ = parts_;
  }
  return true;
}

Mailbox::Mailbox(const Wire& wire, LinkMemory* own) noexcept
    : endpoint_(wire.endpoint), mapped_(wire.mapped != nullptr) {
  for (uint32_t s = 0; s < kStreams; s++) {
    out_[s].bind(wire, own, s);
    in_[s].bind(wire, own, s);
  }
}

void Mailbox::flush() noexcept {
  if (mapped_) return;
  for (auto& out : out_) out.flush();
  // Credit that was refused, or is due.
  for (auto& in : in_) in.maybe_credit();
}

}  // namespace plait::transport
