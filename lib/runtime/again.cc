// Small operations are short, and what is checked, copied and kept for each of them counts. A call like an
// earlier one, with all that it needs at hand, runs in one go, and what it needs stays at hand.
#include "runtime/communicator.h"

namespace plait::runtime {

void Communicator::take_ready(plait_request& request, const void* in, void* out) noexcept {
  Args& a = request.args;
  ready_[place_of(a.collective, a.root, a.count)] = nullptr;
  request.magic = plait_request::kMagic;
  request.holders = 1;
  request.state = plait_request::State::idle;
  request.came_again = true;
  a.in = in;
  a.out = out;
}

bool Communicator::is_volley(const Prepared& p, const void* in, const void* out) const noexcept {
  if (!p.volley.made || p.args.codec != nullptr || policy_.crowded) return false;
  return !p.volley.mapped || p.volley.copies ||
         ((p.in_bytes == 0 || arena_->owns(in, p.in_bytes)) &&
          (p.out_bytes == 0 || arena_->owns(out, p.out_bytes)));
}

// Is it done on the commons, by ranks with a core each, in one stride?
bool Communicator::is_common(const Prepared& p, const void* in, const void* out) const noexcept {
  return p.call.common && !policy_.crowded && p.in_bytes <= collectives::real::kCommonStride &&
         p.out_bytes <= collectives::real::kCommonStride && machine_->ready_for_shared(p.call) &&
         (p.in_bytes == 0 || arena_->owns(in, p.in_bytes)) &&
         (p.out_bytes == 0 || arena_->owns(out, p.out_bytes));
}

// Of a volley, or on the commons. Nothing is to be found out, or made room for, but where its buffers lie.
void Communicator::bind_again(const Prepared& p, uint64_t number, const void* in, void* out) noexcept {
  collectives::real::Call& call = take_call(p, number);
  if (p.in_bytes > 0) call.input.data = static_cast<std::byte*>(const_cast<void*>(in));
  if (p.out_bytes > 0) call.output.data = static_cast<std::byte*>(out);
  if (p.volley.mapped || !p.volley.made) {
    call.input = bound_of(call.input.data, p.in_bytes);
    call.output = bound_of(call.output.data, p.out_bytes);
    call.store = store_of(p);
  }
}

void Communicator::start_again(const Prepared& p, uint64_t number, const void* in, void* out) noexcept {
  bind_again(p, number, in, out);
  machine_->start();
}

bool Communicator::may_run_now(const plait_request& ready, const void* in, const void* out) const noexcept {
  const Prepared& p = *ready.prepared;
  return head_ == nullptr &&
         ((p.volley.pair.fits(in, out) && machine_->ready_for_shared(p.call)) || is_volley(p, in, out) ||
          is_common(p, in, out)) &&
         !p.network && !messages_.busy() && later_.number == 0 && !abort_.load(std::memory_order_relaxed) &&
         !is_broken_.load(std::memory_order_acquire);
}

// What start() and wait() do, for a call that others are likely to be in.
bool Communicator::run_now(plait_request& ready, const void* in, void* out) noexcept {
  const Prepared& p = *ready.prepared;
  const uint64_t number = ++calls_;
  if (p.volley.pair.fits(in, out) ? pair_now(p, number, in, out)
      : p.volley.exchange.made    ? exchange_now(p, number, in, out)
                                  : machine_now(p, number, in, out)) {
    recorder_.finished(number);
    settle();
    return true;
  }
  // advance() says what is wrong, if anything is.
  take_ready(ready, in, out);
  ready.number = number;
  ready.deadline_set = false;
  ready.state = plait_request::State::running;
  head_ = tail_ = &ready;
  return false;
}

// False: it is the machine's, begun.
bool Communicator::machine_now(const Prepared& p, uint64_t number, const void* in, void* out) noexcept {
  start_again(p, number, in, out);
  if (!enter_gate()) return false;
  bool ended = machine_->step();
  record(number, p.id);
  for (uint32_t look = 0; !ended && look < kLooksNow; look++) {
    if (look >= kEagerLooks) cpu_relax();
    ended = machine_->step();
  }
  board_->gate.leave();
  if (!ended || !machine_->status().ok()) return false;
  if (p.call.common) machine_->note_pair(p.volley.pair, in, out);
  return true;
}

// The same.
bool Communicator::pair_now(const Prepared& p, uint64_t number, const void* in, void* out) noexcept {
  if (!enter_gate()) return machine_now(p, number, in, out);
  const bool shown = machine_->show_pair(p.volley.pair, p.tag(number));
  bool ended = false;
  if (shown) {
    record(number, p.id);
    ended = machine_->run_pair(p.volley.pair, p.call.fold, &p.call.op, kLooksNow);
  }
  board_->gate.leave();
  if (!shown) return machine_now(p, number, in, out);
  if (ended) return true;
  bind_again(p, number, in, out);
  machine_->resume_pair();
  return false;
}

// The same.
bool Communicator::exchange_now(const Prepared& p, uint64_t number, const void* in, void* out) noexcept {
  const collectives::real::Exchange& x = p.volley.exchange;
  const collectives::real::Exchange::Buffers buffers{static_cast<std::byte*>(const_cast<void*>(in)),
                                                     static_cast<std::byte*>(out)};
  const uint32_t tag = p.tag(number);
  bool sent = false, ended = false;
  if (enter_gate()) {
    sent = x.send(tag, buffers);
    record(number, p.id);
    for (uint32_t look = 0; sent && !ended && look < kLooksNow; look++) {
      if (look >= kEagerLooks) cpu_relax();
      ended = x.land(tag, buffers, p.call.fold, &p.call.op);
    }
    board_->gate.leave();
  }
  if (ended) return true;
  start_again(p, number, in, out);
  if (sent) machine_->sent(x.sends);
  return false;
}

}  // namespace plait::runtime
