// How the machine receives, folds and copies: an action takes its operands where they lie and stores the
// result to its own place and, in the same pass, to peers that wait for it.
#include <algorithm>
#include <cstring>

#include "base/copy.h"
#include "collectives/machine/real/descriptor.h"
#include "collectives/machine/real/machine.h"

namespace plait::collectives::real {

using namespace transport;

Machine::Turn Machine::run_fold(uint32_t w, uint32_t action) noexcept {
  const Action& a = call_.schedule->actions[action];
  Run& r = run_of(w, action);
  if (a.wired && r.told == 0) [[unlikely]] {
    if (!hear_length(w, a, r)) return Turn::blocked;
    if (!status_.ok()) return Turn::done;
  }
  const size_t bytes = a.wired ? r.told : bytes_of(a, w);
  Arrival* arrivals = arrivals_of(w, a);
  // Sources that are still to come; the first one that is missing ends the look.
  while (r.landed < a.sources) {
    const Source& s = call_.schedule->sources[a.first_source + r.landed];
    if (!land(w, a, s, arrivals[r.landed], r.cursor, bytes)) return Turn::blocked;
    if (arrivals[r.landed].form == Form::parts && arrivals[r.landed].available < bytes) break;
    r.landed++;
  }
  for (uint32_t k = r.landed; k < a.sources; k++) {
    const Source& s = call_.schedule->sources[a.first_source + k];
    if (!land(w, a, s, arrivals[k], r.cursor, bytes)) return Turn::blocked;
  }
  if (!status_.ok()) return Turn::done;
  if (r.phase == Phase::fresh) {
    choose_fused(w, a, r, bytes);
    r.phase = Phase::running;
  }
  return fold_pieces(w, a, r, bytes);
}

// True when something of the source beyond `cursor` is there (or it is whole).
bool Machine::land(uint32_t w, const Action& a, const Source& s, Arrival& arrival, uint64_t cursor,
                   size_t bytes) noexcept {
  if (s.peer == kLocal) {
    arrival = {bound(s.place.in()).data + offset_of(s.place, w), bytes, Form::whole};
    return true;
  }
  if (cursor > 0 && arrival.available > cursor) return true;
  if (arrival.posted) return arrival.got;
  Link& link = links_[size_t(s.peer)];
  const uint32_t stream = stream_of(s.lane, w);
  if (ordinals(s.peer, stream).received != s.ordinal) return false;
  if (call_.layout.uneven) [[unlikely]] {
    bool landed = false;
    if (land_uneven(w, a, s, arrival, bytes, &landed)) return landed;
  } else if (bytes <= kInlineBytes && link.mailbox->in(stream).peek(call_.tag) != nullptr) {
    return land_lines(link, stream, w, arrival, bytes);
  }
  return land_descriptor(link, stream, a, w, arrival, cursor, bytes);
}

bool Machine::land_lines(const Link& link, uint32_t stream, uint32_t w, Arrival& arrival,
                         size_t bytes) noexcept {
  const Inbox& in = link.mailbox->in(stream);
  if (bytes <= kLinePayload || link.mailbox->mapped()) {
    const Line* line = in.peek(call_.tag);
    if (line == nullptr) return false;
    take_credit(*link.mailbox, stream, *line, bytes);
    arrival = {in_line(in, bytes), bytes, Form::lines, 1};
    return true;
  }
  const uint32_t lines = uint32_t((bytes + kLinePayload - 1) / kLinePayload);
  if (arrival.gather == nullptr) {
    Window& window = window_[w];
    arrival.gather = gather_.data() + w * call_.schedule->sources.size() * kGatherBytes + window.gathered;
    window.gathered += round_up(lines * kLinePayload, 64);
  }
  std::byte* const gather = arrival.gather;
  for (uint32_t& have = arrival.lines; have < lines; have++) {
    const Line* line = in.peek(call_.tag, have);
    if (line == nullptr) return false;
    std::memcpy(gather + size_t(have) * kLinePayload, line->payload, kLinePayload);
    take_credit(*link.mailbox, stream, *line, std::min<size_t>(bytes - have * kLinePayload, kLinePayload));
  }
  arrival = {.data = gather, .available = bytes, .form = Form::lines, .lines = lines, .gather = gather};
  return true;
}

bool Machine::land_descriptor(Link& link, uint32_t stream, const Action& a, uint32_t w, Arrival& arrival,
                              uint64_t cursor, size_t bytes) noexcept {
  const Line* line = link.mailbox->in(stream).peek(call_.tag | kDescriptorBit);
  if (line == nullptr) {
    if (!link.mailbox->mapped() && cursor == 0 && !arrival.awaited) {
      arrival.awaited = true;
      await_parts(link, stream, a, w, bytes);
    }
    return false;
  }
  Descriptor d;
  std::memcpy(&d, line->payload, sizeof d);
  link.mailbox->out(stream).acknowledged(d.lines, d.parts);
  if (d.output_offset != kNotShared) {
    link.output_of = call_.number;
    link.output_offset = d.output_offset;
  }
  const int rank = int(&link - links_.data());
  if (call_.layout.uneven && !check_length(a, rank, d.length)) return true;
  if (d.kind == kPart) {
    arrival = {nullptr, std::min<uint64_t>(bytes, cursor + kPartBytes), Form::parts, 1};
    roomy_ = true;
  } else if (d.kind == kMapped && cursor == 0 && link.shared != nullptr &&
             in_bounds(d.offset, bytes, link.shared_bytes)) {
    arrival = {link.shared + d.offset, bytes, Form::mapped, 1};
  } else if (d.kind == kPlaced && cursor == 0 && call_.output.shared && a.dst.in() == Buffer::output) {
    arrival = {call_.output.data + offset_of(a.dst, w), bytes, Form::placed, 1};
  } else if (d.kind == kPull && cursor == 0) {
    return pull(link, stream, a, w, arrival, d.offset, bytes);
  } else {
    fail(Code::internal, "rank " + std::to_string(rank) + " sent a message of kind " +
                             std::to_string(d.kind) + " that does not fit: please report it");
  }
  return true;
}

// What is to be stored as it comes lands where it is to be, if the network can do that. From here on nothing
// else is there: the action waits for no other one.
void Machine::await_parts(Link& link, uint32_t stream, const Action& a, uint32_t w, size_t bytes) noexcept {
  if (a.kind != Kind::recv || a.dead || a.dst.in() == Buffer::none || a.pieces > 0 || a.wired ||
      call_.layout.uneven || bytes <= kInlineNetworkBytes)
    return;
  link.mailbox->in(stream).divert(uint32_t(std::min(bytes / kPartBytes, size_t(kParts))),
                                  bound(a.dst.in()).data + offset_of(a.dst, w));
}

// Is the peer's output there to be stored to, for good as far as its own program goes?
bool Machine::may_place(uint32_t w, const Action& send, const Link& link, size_t bytes) const noexcept {
  if (!send.granted || !call_.same_outputs || call_.layout.uneven || link.shared == nullptr ||
      link.output_of != call_.number) {
    return false;
  }
  const size_t offset = call_.layout.offset(place(Buffer::output, send.granted_slot), window_[w].segment);
  return link.output_offset <= link.shared_bytes &&
         in_bounds(link.output_offset + offset, bytes, link.shared_bytes);
}

// Which of the sends of this value are served in the same pass. A fused step waits for nothing that its first
// step would not wait for: where there is no credit, the send runs later by itself.
void Machine::choose_fused(uint32_t w, const Action& a, Run& r, size_t bytes) noexcept {
  if (bytes <= kInlineMappedBytes) return;
  const uint32_t parts = uint32_t((bytes + kPartBytes - 1) / kPartBytes);
  for (uint32_t k = 0; k < a.fused; k++) {
    const uint32_t send = call_.schedule->fused[a.first_fused + k];
    const Action& b = call_.schedule->actions[send];
    const uint32_t stream = stream_of(b.lane, w);
    if (waits_[w * actions_ + send] != 1 || ordinals(b.peer, stream).sent != b.ordinal) continue;
    Link& link = links_[size_t(b.peer)];
    Outbox& out = link.mailbox->out(stream);
    const uint64_t bit = uint64_t(1) << k;
    if (may_place(w, b, link, bytes)) {
      if (out.room(1)) r.placed |= bit;
    } else if (bytes > kInlineBytes && !stays(link, bound(a.dst.in()), bytes)) {
      if (parts > kParts || !out.room(parts) || !out.room_for_parts(parts)) continue;
      (out.takes_sources() ? r.sourced : r.fused) |= bit;
    }
  }
  r.fused |= r.placed | r.sourced;
}

Machine::Turn Machine::fold_pieces(uint32_t w, const Action& a, Run& r, size_t bytes) noexcept {
  const Arrival* arrivals = arrivals_of(w, a);
  const uint64_t begin = r.cursor;
  uint64_t limit = bytes;
  bool by_parts = r.fused != r.placed;
  for (uint32_t k = 0; k < a.sources; k++) {
    limit = std::min(limit, arrivals[k].available);
    by_parts = by_parts || arrivals[k].form == Form::parts;
  }
  while (r.cursor < limit) {
    const uint64_t end = by_parts ? std::min(limit, (r.cursor / kPartBytes + 1) * kPartBytes) : limit;
    fold_piece(w, a, r, r.cursor, size_t(end - r.cursor));
    end_piece(w, a, r, size_t(end - r.cursor));
    r.cursor = end;
  }
  if (by_parts && r.cursor != begin) post_fused(w, a, r, r.cursor == bytes);
  if (r.cursor < bytes) return r.cursor == begin ? Turn::blocked : Turn::moved;
  if (copies_past_cache(a, r)) end_past_cache();
  end_fold(w, a, r);
  return Turn::done;
}

void Machine::fold_piece(uint32_t w, const Action& a, const Run& r, uint64_t from, size_t bytes) noexcept {
  const Schedule& s = *call_.schedule;
  const Arrival* arrivals = arrivals_of(w, a);
  const std::byte* inputs[kMaxOperands];
  std::byte* outputs[kMostFused + 1];
  uint32_t count = 0;
  if (a.pieces > 0) [[unlikely]] {
    const Source& source = s.sources[a.first_source];
    return scatter_pieces(w, a,
                          arrivals->form == Form::parts
                              ? links_[size_t(source.peer)].mailbox->in(stream_of(source.lane, w)).part(0)
                              : arrivals->data);
  }
  for (uint32_t k = 0; k < a.sources; k++) {
    const Source& source = s.sources[a.first_source + k];
    inputs[k] = arrivals[k].form == Form::parts
                    ? links_[size_t(source.peer)].mailbox->in(stream_of(source.lane, w)).part(0)
                    : arrivals[k].data + from;
  }
  const uint64_t written = r.fused & ~r.sourced;
  const bool all_fused = a.dead && a.fused < kMostFused && written + 1 == uint64_t(1) << a.fused;
  if (!all_fused) outputs[count++] = bound(a.dst.in()).data + offset_of(a.dst, w) + from;
  for (uint32_t k = 0; k < a.fused; k++) {
    if ((written >> k & 1) == 0) continue;
    const Action& b = s.actions[s.fused[a.first_fused + k]];
    Link& link = links_[size_t(b.peer)];
    outputs[count++] =
        (r.placed >> k & 1) != 0
            ? link.shared + link.output_offset +
                  call_.layout.offset(place(Buffer::output, b.granted_slot), window_[w].segment) + from
            : link.mailbox->out(stream_of(b.lane, w)).part(0);
  }
  if (a.kind == Kind::fold) {
    call_.fold({inputs, a.sources, outputs, count, bytes >> call_.layout.element_shift,
                a.last ? call_.ranks : 0, call_.store, a.own, &call_.op});
  } else if (count == 1 && outputs[0] == inputs[0]) {
    return;
  } else if (copies_past_cache(a, r)) {
    copy_past_cache(outputs[0], inputs[0], bytes);
  } else {
    copy_to_all(inputs[0], outputs, count, bytes, call_.store);
  }
}

// Pieces of run_fold()'s that go past the cache, and of which nobody is told before the last one is stored.
bool Machine::copies_past_cache(const Action& a, const Run& r) const noexcept {
  return call_.store == Store::past_cache && a.kind != Kind::fold && r.fused == 0 &&
         r.phase == Phase::running;
}

// Parts that were read are released, parts that were filled are announced.
void Machine::end_piece(uint32_t w, const Action& a, const Run& r, size_t bytes) noexcept {
  const Schedule& s = *call_.schedule;
  for (uint32_t k = 0; k < a.sources; k++) {
    const Source& source = s.sources[a.first_source + k];
    if (source.peer == kLocal || arrivals_of(w, a)[k].form != Form::parts) continue;
    Inbox& in = links_[size_t(source.peer)].mailbox->in(stream_of(source.lane, w));
    in.consume_part();
    in.maybe_credit();
  }
  for (uint32_t k = 0; k < a.fused; k++) {
    if (((r.fused & ~r.placed) >> k & 1) == 0) continue;
    const Action& b = s.actions[s.fused[a.first_fused + k]];
    Link& link = links_[size_t(b.peer)];
    const uint32_t stream = stream_of(b.lane, w);
    const std::byte* from =
        (r.sourced >> k & 1) != 0 ? bound(a.dst.in()).data + offset_of(a.dst, w) + r.cursor : nullptr;
    fill_descriptor(b, stream, kPart, 0);
    link.mailbox->out(stream).publish_part(call_.tag | kDescriptorBit, uint32_t(bytes), from);
    if (link.mailbox->mapped()) link.mailbox->notify();
  }
}

// Where posting costs a system call, several parts go out together, the last ones at once.
void Machine::post_fused(uint32_t w, const Action& a, const Run& r, bool last) noexcept {
  for (uint32_t k = 0; k < a.fused; k++) {
    if (((r.fused & ~r.placed) >> k & 1) == 0) continue;
    const Action& b = call_.schedule->actions[call_.schedule->fused[a.first_fused + k]];
    Mailbox& mailbox = *links_[size_t(b.peer)].mailbox;
    if (mailbox.mapped()) continue;
    const Outbox& out = mailbox.out(stream_of(b.lane, w));
    if (last || out.unposted() >= out.together()) mailbox.notify();
  }
}

void Machine::end_fold(uint32_t w, const Action& a, const Run& r) noexcept {
  const Schedule& s = *call_.schedule;
  const Arrival* arrivals = arrivals_of(w, a);
  for (uint32_t k = 0; k < a.sources; k++) {
    const Source& source = s.sources[a.first_source + k];
    if (source.peer == kLocal) continue;
    ordinals(source.peer, stream_of(source.lane, w)).received++;
    if (arrivals[k].form != Form::parts) {
      links_[size_t(source.peer)].mailbox->in(stream_of(source.lane, w)).consume(arrivals[k].lines);
    }
  }
  for (uint32_t k = 0; k < a.fused; k++) {
    if ((r.fused >> k & 1) == 0) continue;
    const Action& b = s.actions[s.fused[a.first_fused + k]];
    if ((r.placed >> k & 1) != 0) {
      announce(w, b, kPlaced, 0);
    } else {
      ordinals(b.peer, stream_of(b.lane, w)).sent++;
    }
  }
  for (uint32_t k = 0; k < a.sources; k++) {
    const Source& source = s.sources[a.first_source + k];
    if (source.peer != kLocal) release(w, source, arrivals[k]);
  }
}

// A sender whose memory was read waits for the credit. After parts it is due, too: a stream must be able to
// take the next whole message, or a program that needs a credit would hang. Lines are many: their credit can
// wait. Unmapped: Mailbox::idle() sends what is due, unless a message carries it before.
void Machine::release(uint32_t w, const Source& s, const Arrival& arrival) noexcept {
  Mailbox& mailbox = *links_[size_t(s.peer)].mailbox;
  Inbox& in = mailbox.in(stream_of(s.lane, w));
  if (arrival.form != Form::lines && in.owes_credit() && mailbox.mapped()) {
    in.credit();
    mailbox.notify();
  } else {
    in.maybe_credit();
  }
}

}  // namespace plait::collectives::real
