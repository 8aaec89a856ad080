// How the machine sends: small messages in lines, larger ones by telling where they lie, or in parts.
#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "collectives/machine/real/descriptor.h"
#include "collectives/machine/real/machine.h"

namespace plait::collectives::real {

using namespace transport;

namespace {
uint32_t lines_for(size_t bytes) noexcept {
  return bytes == 0 ? 1u : uint32_t((bytes + kLinePayload - 1) / kLinePayload);
}
}  // namespace

Machine::Turn Machine::run_send(uint32_t w, uint32_t action) noexcept {
  const Action& a = call_.schedule->actions[action];
  Run& r = run_of(w, action);
  Link& link = links_[size_t(a.peer)];
  const uint32_t stream = stream_of(a.lane, w);
  if (r.phase == Phase::acknowledged) {
    Outbox& out = link.mailbox->out(stream);
    if (out.consumed(r.awaited)) return Turn::done;
    look_for_credit(link, stream);
    return out.consumed(r.awaited) ? Turn::done : Turn::blocked;
  }
  if (r.phase == Phase::drained) return link.mailbox->out(stream).sources_free() ? Turn::done : Turn::blocked;
  if (ordinals(a.peer, stream).sent != a.ordinal) return Turn::blocked;
  const size_t bytes = bytes_of(a, w);
  if (a.pieces > 0) [[unlikely]]
    return send_joined(w, a, bytes);
  const Place from = call_.schedule->sources[a.first_source].place;
  if (is_beyond(w, bytes)) {
    ordinals(a.peer, stream).sent++;
    return Turn::done;
  }
  const size_t offset = offset_of(from, w);
  const Bound& buffer = bound(from.in());
  const bool mapped = stays(link, buffer, bytes);
  if (bytes <= (mapped ? kInlineMappedBytes : link.mailbox->mapped() ? kInlineBytes : kInlineNetworkBytes)) {
    return call_.layout.uneven ? send_uneven(w, a, buffer.data + offset, bytes)
                               : send_lines(w, a, buffer.data + offset, bytes);
  }
  if (mapped) return send_mapped(w, a, r, buffer, offset);
  if (!buffer.key.empty() && link.may_pull && !copied(bytes) && !a.wired)
    return send_pull(w, a, r, buffer, offset);
  return send_parts(w, a, r, buffer.data + offset, bytes);
}

// The peer's next message may carry credit, and this rank may come to receive it only after what it sends
// now.
void Machine::look_for_credit(Link& link, uint32_t stream) noexcept {
  const Line* line = link.mailbox->in(stream).peek(call_.tag | kDescriptorBit);
  if (line == nullptr) return;
  Descriptor d;
  std::memcpy(&d, line->payload, sizeof d);
  link.mailbox->out(stream).acknowledged(d.lines, d.parts);
}

Machine::Turn Machine::send_lines(uint32_t w, const Action& a, const std::byte* data, size_t bytes) noexcept {
  const uint32_t stream = stream_of(a.lane, w);
  Mailbox& mailbox = *links_[size_t(a.peer)].mailbox;
  Outbox& out = mailbox.out(stream);
  if (mailbox.mapped()) {
    if (!out.room(1)) return Turn::blocked;
    if (bytes > 0) std::memcpy(in_line(out, bytes), data, bytes);
    // Such begin with their length, which is looked for in the line.
    if (call_.layout.uneven || a.wired) std::memcpy(out.next().payload, data, sizeof(uint64_t));
    out.publish(call_.tag);
  } else if (!put_lines(mailbox, stream, data, bytes)) {
    return Turn::blocked;
  }
  ordinals(a.peer, stream).sent++;
  mailbox.notify();
  return Turn::done;
}

bool Machine::put_lines(Mailbox& mailbox, uint32_t stream, const std::byte* data, size_t bytes) noexcept {
  Outbox& out = mailbox.out(stream);
  if (!out.room(lines_for(bytes))) return false;
  const std::byte* const end = data + bytes;
  do {
    const size_t here = std::min<size_t>(size_t(end - data), kLinePayload);
    if (here > 0) std::memcpy(out.next().payload, data, here);
    put_credit(mailbox, stream, here);
    out.publish(call_.tag);
    data += here;
  } while (data != end);
  return true;
}

// Every descriptor carries the credit for the other direction.
void Machine::fill_descriptor(const Action& send, uint32_t stream, uint32_t kind, uint64_t offset) noexcept {
  Mailbox& mailbox = *links_[size_t(send.peer)].mailbox;
  Inbox& in = mailbox.in(stream);
  const Descriptor d{.kind = kind,
                     .lines = in.lines(),
                     .parts = in.parts(),
                     .reserved = 0,
                     .offset = offset,
                     .output_offset = call_.output.shared ? call_.output.offset : kNotShared,
                     .length = call_.layout.uneven ? length_of(send)
                               : send.wired        ? wire_bytes(send, stream - send.lane * windows_)
                                                   : 0};
  std::memcpy(mailbox.out(stream).next().payload, &d, sizeof d);
  in.credit_carried();
  roomy_ = roomy_ || kind == kPart || kind == kPull;
}

void Machine::announce(uint32_t w, const Action& send, uint32_t kind, uint64_t offset) noexcept {
  const uint32_t stream = stream_of(send.lane, w);
  Mailbox& mailbox = *links_[size_t(send.peer)].mailbox;
  fill_descriptor(send, stream, kind, offset);
  mailbox.out(stream).publish(call_.tag | kDescriptorBit);
  ordinals(send.peer, stream).sent++;
  mailbox.notify();
}

Machine::Turn Machine::send_mapped(uint32_t w, const Action& a, Run& r, const Bound& from,
                                   size_t offset) noexcept {
  Outbox& out = links_[size_t(a.peer)].mailbox->out(stream_of(a.lane, w));
  if (!out.room(1)) return Turn::blocked;
  announce(w, a, kMapped, from.offset + offset);
  r.awaited = out.sent();
  r.phase = Phase::acknowledged;
  return Turn::moved;
}

// Two lines: where it lies, and the key of the region it lies in.
Machine::Turn Machine::send_pull(uint32_t w, const Action& a, Run& r, const Bound& from,
                                 size_t offset) noexcept {
  const uint32_t stream = stream_of(a.lane, w);
  Mailbox& mailbox = *links_[size_t(a.peer)].mailbox;
  Outbox& out = mailbox.out(stream);
  if (!out.room(2)) return Turn::blocked;
  fill_descriptor(a, stream, kPull, from.offset + offset);
  out.publish(call_.tag | kDescriptorBit);
  std::memcpy(out.next().payload, from.key.data(), std::min<size_t>(from.key.size(), kLinePayload));
  out.publish(call_.tag | kDescriptorBit);
  ordinals(a.peer, stream).sent++;
  mailbox.notify();
  r.awaited = out.sent();
  r.phase = Phase::acknowledged;
  return Turn::moved;
}

// Messages that are not longer are better on their way while what they are of is copied.
constexpr size_t kAlongBytes = 64 * 1024;

// Until the copy of the same has begun by itself, what is read is stored twice (2 ranks, plain memory:
// allgather of 1 MiB in 56 us instead of 63, 4 MiB in 437 instead of 620).
void Machine::fill_part(uint32_t w, const Action& a, const Run& r, std::byte* part, const std::byte* from,
                        size_t bytes) noexcept {
  Run* const copy = a.along == kNoAction ? nullptr : &run_of(w, a.along);
  if (copy == nullptr || copy->phase != Phase::fresh || bytes_of(a, w) <= kAlongBytes)
    return copy_bytes(part, from, bytes);
  std::byte* const to = local(call_.schedule->actions[a.along].dst, w) + r.cursor;
  (call_.store == Store::past_cache ? copy_also_past_cache : copy_twice)(part, to, from, bytes);
  copy->cursor += bytes;
}

Machine::Turn Machine::send_parts(uint32_t w, const Action& a, Run& r, const std::byte* data,
                                  size_t bytes) noexcept {
  const uint32_t stream = stream_of(a.lane, w);
  Mailbox& mailbox = *links_[size_t(a.peer)].mailbox;
  Outbox& out = mailbox.out(stream);
  const uint64_t before = r.cursor;
  if (!out.room_for_parts(1)) look_for_credit(links_[size_t(a.peer)], stream);
  while (r.cursor < bytes && out.room(1) && out.room_for_parts(1)) {
    const size_t piece = std::min<size_t>(kPartBytes, bytes - r.cursor);
    const std::byte* from = data + r.cursor;
    if (!out.takes_sources()) fill_part(w, a, r, out.part(0), from, piece);
    fill_descriptor(a, stream, kPart, 0);
    out.publish_part(call_.tag | kDescriptorBit, uint32_t(piece), out.takes_sources() ? from : nullptr);
    r.cursor += piece;
  }
  if (r.cursor == before) return Turn::blocked;
  mailbox.notify();
  if (r.cursor < bytes) return Turn::moved;
  ordinals(a.peer, stream).sent++;
  if (out.sources_free()) return Turn::done;
  r.phase = Phase::drained;
  return Turn::moved;
}

}  // namespace plait::collectives::real
