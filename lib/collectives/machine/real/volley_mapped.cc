// Mapped volleys: a rank tells where its messages lie, or copies them where peers do not map that, reads
// those that it is told of, and waits until all of its own were read that are not copies. Where a peer sends
// in another way the call goes on as the program that it is.
#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/copy.h"
#include "collectives/machine/real/descriptor.h"
#include "collectives/machine/real/machine.h"

namespace plait::collectives::real {

using namespace transport;

// May the call be one, if all its messages may? Not an allreduce that may be done on the commons: that wants
// a stage, which calls that are begun as volleys make no room for.
bool Machine::maps_round() const noexcept {
  return call_.volley != nullptr && !call_.schedule->round.empty() && call_.layout.segments == 1 &&
         !call_.layout.uneven && call_.codec == nullptr && !call_.network && (!call_.common || spreads());
}

// Nothing waits for its messages to be read, and there is one at most between two ranks.
bool Machine::may_map(const Action& a, size_t bytes) const noexcept {
  if (bytes <= kInlineMappedBytes || a.waits > 0 || a.dead || a.kind > Kind::copy) return false;
  const Source* const sources = &call_.schedule->sources[a.first_source];
  if (a.kind == Kind::send)
    return a.lane == 0 && a.ordinal == 0 &&
           (bytes <= kSegmentBytes || stays(links_[size_t(a.peer)], bound(sources->place.in()), bytes));
  return std::all_of(sources, sources + a.sources, [&](const Source& s) {
    return s.peer == kLocal || (s.lane == 0 && s.ordinal == 0 && links_[size_t(s.peer)].shared != nullptr);
  });
}

// Of one that is made: do the messages of this call lie where peers map them, or may they be copied?
bool Machine::lies_mapped() const noexcept {
  const auto& sends = call_.volley->sends;
  return call_.volley->copies || std::all_of(sends.begin(), sends.end(), [](const Volley::Send& send) {
           return send.from.buffer->shared;
         });
}

// round_at_ counts sends that were told of, folds whose operands were found, folds that are done, and sends
// that were read.
bool Machine::step_mapped() noexcept {
  Volley& v = *call_.volley;
  const uint32_t before = round_at_, sends = uint32_t(v.sends.size()), folds = uint32_t(v.folds.size()),
                 found = sends + folds, folded = found + folds;
  for (; round_at_ < sends; round_at_++) {
    if (!tell_place(v.sends[round_at_])) return volley_waits(v.sends[round_at_].action, before);
  }
  if (before < sends) copy_own();
  for (; round_at_ < found; round_at_++) {
    const Volley::Fold& f = v.folds[round_at_ - sends];
    if (find_places(f)) continue;
    return is_mapped_volley_ ? volley_waits(f.action, before) : false;
  }
  for (; round_at_ < folded; round_at_++) {
    Volley::Fold& f = v.folds[round_at_ - found];
    const bool was_copied = sends > 0 && f.action->kind == Kind::copy;
    if (!was_copied && !fold_mapped(f)) return volley_waits(f.action, before);
  }
  for (; round_at_ < folded + sends; round_at_++) {
    const Volley::Send& send = v.sends[round_at_ - folded];
    if (!send.mailbox->out(0).consumed(send.line)) return volley_waits(send.action, before);
  }
  moved_ = moved_ || round_at_ != before;  // as step_volley()
  active_count_ = 0;
  return true;
}

bool Machine::tell_place(Volley::Send& send) noexcept {
  Link& link = links_[size_t(send.action->peer)];
  if (!stays(link, *send.from.buffer, send.bytes)) {
    const bool sent = send.bytes <= kInlineBytes ? send_line(send) : send_parts(send, link);
    send.line = send.mailbox->out(0).sent() - kLines;  // consumed long since: nothing is waited for
    return sent;
  }
  Outbox& out = send.mailbox->out(0);
  if (!out.room(1)) return false;
  fill_descriptor(*send.action, 0, kMapped, send.from.buffer->offset + send.from.offset);
  out.publish(call_.tag | kDescriptorBit);
  send.line = out.sent();
  send.mailbox->notify();
  return true;
}

// As many as there is room for. False: there is more.
bool Machine::send_parts(Volley::Send& send, Link& link) noexcept {
  Outbox& out = send.mailbox->out(0);
  const uint32_t before = send.sent;
  while (send.sent < send.bytes) {
    if (!out.room_for_parts(1)) look_for_credit(link, 0);
    if (!out.room(1) || !out.room_for_parts(1)) break;
    const uint32_t piece = std::min(kPartBytes, send.bytes - send.sent);
    copy_bytes(out.part(0), at(send.from) + send.sent, piece);
    fill_descriptor(*send.action, 0, kPart, 0);
    out.publish_part(call_.tag | kDescriptorBit, piece);
    send.sent += piece;
  }
  if (send.sent != before) {
    moved_ = true;
    send.mailbox->notify();
  }
  return send.sent == send.bytes;
}

// While lines are on their way.
void Machine::copy_own() noexcept {
  for (const Volley::Fold& f : call_.volley->folds) {
    if (f.action->kind != Kind::copy) continue;
    const std::byte* const from = at(call_.volley->operands[f.first].here);
    if (std::byte* to = at(f.to); to != from) copy_to_all(from, &to, 1, f.bytes, call_.store);
  }
}

// False: one is not there yet; or the call is no volley any more.
bool Machine::find_places(const Volley::Fold& f) noexcept {
  for (; volley_landed_ < f.count; volley_landed_++) {
    Volley::Operand& operand = call_.volley->operands[f.first + volley_landed_];
    if (operand.in != nullptr && !find_place(operand, f.bytes)) return false;
  }
  volley_landed_ = 0;
  return true;
}

bool Machine::find_place(Volley::Operand& operand, size_t bytes) noexcept {
  uint32_t tag = 0;
  if (!operand.in->peek_tag(&tag) || (tag | kDescriptorBit) != (call_.tag | kDescriptorBit)) return false;
  const Line* const line = operand.in->peek(tag);
  if (tag == call_.tag && bytes <= kInlineBytes) {
    operand.at = Volley::At::line;
    operand.there = in_line(*operand.in, bytes);
    return true;
  }
  Descriptor d;
  std::memcpy(&d, line->payload, sizeof d);
  const Link& link = links_[size_t(operand.peer)];
  const bool in_parts = d.kind == kPart && bytes <= kSegmentBytes;
  const bool told = d.kind == kMapped && in_bounds(d.offset, bytes, link.shared_bytes);
  if (tag == call_.tag || (!in_parts && !told)) {
    leave_volley();
    return false;
  }
  link.mailbox->out(0).acknowledged(d.lines, d.parts);
  operand.at = in_parts ? Volley::At::parts : Volley::At::sender;
  operand.there = in_parts ? nullptr : link.shared + d.offset;
  return true;
}

// A part at a time, where some operand comes so. False: the next one is not there yet.
bool Machine::fold_mapped(Volley::Fold& f) noexcept {
  const std::span operands(&call_.volley->operands[f.first], f.count);
  const bool by_parts = std::any_of(operands.begin(), operands.end(), [](const Volley::Operand& o) {
    return o.in != nullptr && o.at == Volley::At::parts;
  });
  do {
    if (f.done > 0 && !next_parts(operands)) return false;
    const uint32_t piece = by_parts ? std::min(kPartBytes, f.bytes - f.done) : f.bytes;
    fold_bytes(f, operands, piece);
    f.done += piece;
    moved_ = true;
    for (const Volley::Operand& o : operands)
      if (o.in != nullptr && (o.at == Volley::At::parts || f.done == f.bytes)) leave_operand(o);
  } while (f.done < f.bytes);
  return true;
}

// Behind those that were read, of all that come so. The sender of the first part sends nothing else.
bool Machine::next_parts(std::span<const Volley::Operand> operands) noexcept {
  for (uint32_t k = 0; k < operands.size(); k++) {
    const Volley::Operand& o = operands[k];
    if (o.in == nullptr || o.at != Volley::At::parts) continue;
    const Line* const line = o.in->peek(call_.tag | kDescriptorBit);
    volley_landed_ = k;
    if (line == nullptr) return false;
    Descriptor d;
    std::memcpy(&d, line->payload, sizeof d);
    links_[size_t(o.peer)].mailbox->out(0).acknowledged(d.lines, d.parts);
    if (d.kind == kPart) continue;
    fail(Code::internal, "rank " + std::to_string(o.peer) + " sent a message of kind " +
                             std::to_string(d.kind) + " behind parts of one: please report it");
    return false;
  }
  volley_landed_ = 0;
  return true;
}

void Machine::fold_bytes(Volley::Fold& f, std::span<const Volley::Operand> operands,
                         uint32_t bytes) noexcept {
  const std::byte* inputs[kMaxOperands];
  for (uint32_t k = 0; k < f.count; k++) {
    const Volley::Operand& o = operands[k];
    inputs[k] = o.in == nullptr             ? at(o.here) + f.done
                : o.at == Volley::At::parts ? o.in->part(0)
                                            : o.there + f.done;
  }
  std::byte* to = at(f.to) + f.done;
  if (f.action->kind == Kind::fold) {
    f.work.store = call_.store;
    f.work.count = bytes >> call_.layout.element_shift;
    fold_inputs(f, inputs, to);
  } else if (to != inputs[0]) {
    copy_to_all(inputs[0], &to, 1, bytes, call_.store);
  }
}

// What was read of it is the sender's again.
void Machine::leave_operand(const Volley::Operand& o) noexcept {
  o.at == Volley::At::parts ? o.in->consume_part() : o.in->consume(1);
  if (o.at != Volley::At::sender) return o.in->maybe_credit();
  (void)o.in->credit();
  links_[size_t(o.peer)].mailbox->notify();
}

// All messages were told of, and none was read.
void Machine::leave_volley() noexcept {
  is_mapped_volley_ = round_ = false;
  moved_ = true;
  if (!take_program()) return;
  start_actions();
  for (const Volley::Send& send : call_.volley->sends) {
    Run& r = run_of(0, uint32_t(send.action - call_.schedule->actions.data()));
    r.awaited = send.line;
    r.phase = Phase::acknowledged;
    ordinals(send.action->peer, 0).sent++;
  }
}

}  // namespace plait::collectives::real
