#include "collectives/machine/real/volley.h"

#include <algorithm>
#include <span>

#include "collectives/machine/real/descriptor.h"
#include "collectives/machine/real/machine.h"

namespace plait::collectives::real {

using namespace transport;

Here Machine::here(Place place) const noexcept { return {&bound(place.in()), uint32_t(offset_of(place, 0))}; }

// Of a round. Later calls need nothing that prepare() made room for, as they keep nothing in scratch (a
// barrier has it, and no bytes to keep). False: it is none.
bool Machine::make_volley(bool mapped) noexcept {
  if (call_.volley == nullptr) return false;
  const Schedule& s = *call_.schedule;
  Volley& v = *call_.volley;
  v.forget();
  const bool keeps = s.scratch > 0 && call_.layout.largest_segment_bytes() > 0;
  if (keeps || v.sends.capacity() < s.round.size() || v.folds.capacity() < s.round.size() ||
      v.operands.capacity() < s.sources.size())
    return false;
  v.mapped = v.copies = mapped;
  const size_t most = call_.network ? kLinePayload : kInlineMappedBytes;  // a line each
  window_[0].segment = 0;
  for (uint32_t i : s.round) {
    const Action& a = s.actions[i];
    const auto bytes = uint32_t(call_.layout.bytes(a.sized_by, a.chunk, a.count, 0));
    if (a.pieces > 0 || !(mapped ? may_map(a, bytes) : bytes <= most)) return false;
    const Source* sources = &s.sources[a.first_source];
    if (a.kind == Kind::send) {
      v.copies = v.copies && bytes <= kSegmentBytes;
      v.sends.push_back({links_[size_t(a.peer)].mailbox, here(sources->place), bytes, &a});
      continue;
    }
    v.folds.push_back({&a, here(a.dst), bytes, uint32_t(v.operands.size()), a.sources, a.kind != Kind::fold,
                       bytes > kLinePayload, work_of(a, bytes)});
    for (uint32_t k = 0; k < a.sources; k++) {
      const int32_t peer = sources[k].peer;
      const bool is_here = peer == kLocal;
      v.operands.push_back({is_here ? nullptr : &links_[size_t(peer)].mailbox->in(0),
                            is_here ? here(sources[k].place) : Here{}, peer});
    }
  }
  if (!mapped && !call_.network) make_exchange();
  return v.made = true;
}

// Out of the volley.
void Machine::make_exchange() noexcept {
  const Volley& v = *call_.volley;
  Exchange x;
  if (v.sends.size() > 1) return;
  for (const Volley::Send& send : v.sends) {
    x.peer = send.mailbox;
    x.sent = send.bytes;
    if (x.sent > 0 && !find_spot(send.from, x.from)) return;
  }
  for (const Volley::Fold& f : v.folds) {
    const std::span operands(&v.operands[f.first], f.count);
    const auto is_away = [](const Volley::Operand& o) { return o.in != nullptr; };
    const auto away = std::count_if(operands.begin(), operands.end(), is_away);
    if (!(away == 0 ? keeps(x, f, operands) : away == 1 && awaits(x, f, operands))) return;
  }
  x.sends = uint32_t(v.sends.size());
  x.made = true;
  call_.volley->exchange = x;
}

bool Machine::find_spot(const Here& here, Exchange::Spot& spot) const noexcept {
  spot = {here.buffer == &call_.output, here.offset};
  return spot.output || here.buffer == &call_.input;
}

// What is of this rank alone.
bool Machine::keeps(Exchange& x, const Volley::Fold& f,
                    std::span<const Volley::Operand> operands) const noexcept {
  if (f.bytes == 0) return true;
  if (x.kept > 0 || !f.copies) return false;
  x.kept = f.bytes;
  x.keeps_last = x.in != nullptr;
  return find_spot(operands[0].here, x.keep_from) && find_spot(f.to, x.keep_to);
}

// What comes, alone or for one of this rank's.
bool Machine::awaits(Exchange& x, const Volley::Fold& f,
                     std::span<const Volley::Operand> operands) const noexcept {
  if (x.in != nullptr || operands.size() > 2 || (operands.size() == 1) != f.copies) return false;
  x.own_first = operands[0].in == nullptr;
  x.in = operands[x.own_first ? 1 : 0].in;
  x.folds = !f.copies;
  x.landing = f.bytes;
  x.work = f.work;
  return f.bytes == 0 ||
         (find_spot(f.to, x.to) && (!x.folds || find_spot(operands[x.own_first ? 0 : 1].here, x.own)));
}

collectives::Fold Machine::work_of(const Action& a, size_t bytes) const noexcept {
  return {nullptr,      a.sources, nullptr, 1, bytes >> call_.layout.element_shift, a.last ? call_.ranks : 0,
          Store::plain, a.own,     nullptr};
}

void Machine::start_volley() noexcept {
  round_at_ = 0;
  volley_landed_ = 0;
  if (!call_.volley->mapped) return;
  for (Volley::Send& send : call_.volley->sends) send.sent = 0;
  for (Volley::Fold& f : call_.volley->folds) f.done = 0;
}

bool Machine::step_volley() noexcept {
  Volley& v = *call_.volley;
  const uint32_t before = round_at_, sends = uint32_t(v.sends.size()), all = sends + uint32_t(v.folds.size());
  if (before < sends) {
    for (; round_at_ < sends; round_at_++) {
      if (!send_line(v.sends[round_at_])) return volley_waits(v.sends[round_at_].action, before);
    }
    // What is awaited hardly came with the sending.
    if (sends < all) return volley_waits(v.folds[0].action, before);
  }
  for (; round_at_ < all; round_at_++) {
    Volley::Fold& f = v.folds[round_at_ - sends];
    if (!all_landed(f)) return volley_waits(f.action, before);
    fold_volley(f);
  }
  moved_ = round_at_ != before;  // stepped again while what it sent leaves, it moves nothing
  active_count_ = 0;             // as of step_round()
  return true;
}

bool Machine::volley_waits(const Action* of, uint32_t before) noexcept {
  const auto action = uint32_t(of - call_.schedule->actions.data());
  moved_ = moved_ || round_at_ != before;
  runs_[action].landed = volley_landed_;
  active_[0] = {0, action};
  active_count_ = 1;
  return false;
}

bool Machine::send_line(const Volley::Send& send) noexcept {
  Outbox& out = send.mailbox->out(0);
  if (!out.room(1)) return false;
  copy_values(in_line(out, send.bytes), at(send.from), send.bytes);
  put_credit(*send.mailbox, 0, send.bytes);
  out.publish(call_.tag);
  send.mailbox->notify();
  return true;
}

// One look a step: looking at a line takes it away from the sender that is about to write it (8 B between two
// ranks: 82 ns; 88 with three looks a step, 97 with eight).
bool Machine::all_landed(const Volley::Fold& f) noexcept {
  for (; volley_landed_ < f.count; volley_landed_++) {
    const Inbox* in = call_.volley->operands[f.first + volley_landed_].in;
    if (in != nullptr && in->peek(call_.tag) == nullptr) return false;
  }
  volley_landed_ = 0;
  return true;
}

void Machine::fold_volley(Volley::Fold& f) noexcept {
  const Volley::Operand* operands = &call_.volley->operands[f.first];
  const std::byte* inputs[kMaxOperands];
  for (uint32_t k = 0; k < f.count; k++) {
    const Inbox* in = operands[k].in;
    inputs[k] = in == nullptr ? at(operands[k].here) : f.beside ? in->beside() : in->front().payload;
  }
  std::byte* to = at(f.to);
  if (!f.copies) {
    if (f.bytes > 0) fold_inputs(f, inputs, to);  // a barrier folds nothing
  } else if (to != inputs[0]) {
    copy_values(to, inputs[0], f.bytes);
  }
  for (uint32_t k = 0; k < f.count; k++) {
    if (operands[k].in == nullptr) continue;
    take_credit(*links_[size_t(operands[k].peer)].mailbox, 0, operands[k].in->front(), f.bytes);
    operands[k].in->consume(1);
    operands[k].in->maybe_credit();
  }
}

}  // namespace plait::collectives::real
