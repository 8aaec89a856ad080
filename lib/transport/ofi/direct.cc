// Puts as RDMA writes. Each ends in a signal, which is the data of a write for the target's queue: its number
// among all signals of the endpoint, a counter and what to add. The number shows the target whether one is
// missing: a provider that loses a connection makes another without a word, and what it was told to inject,
// or gave to the kernel, is gone.
//
// Nothing is injected: the tcp provider of libfabric 1.17 crashes where a connection ends before injected
// writes have gone. It also does where one ends within a write that carries data; so there (Choice::split)
// only small puts are one write, bytes and signal, and longer bytes are a write of their own with the signal
// right behind it.
#include <cstring>

#include "transport/ofi/domain.h"

namespace plait::transport::ofi {

DirectEndpoint::DirectEndpoint(OfiDomain& domain, uint16_t counters, uint64_t cookie)
    : MessageEndpoint(domain, counters, cookie), whole_(device().choice.split() ? kInline : SIZE_MAX) {}

bool DirectEndpoint::take(const Transfer& t) noexcept {
  if (t.verb == Verb::get) return MessageEndpoint::take(t);
  if (queue_.front() != nullptr || redo_.front() != nullptr || gets_[t.signal.counter] != 0) return false;
  if (t.remote.bytes > whole_ && !has_ops(2)) return false;
  Op& op = take_op(t);
  op.step = Step::moved;
  op.region = static_cast<const OfiRegion*>(t.local.region);
  if (op.bytes != 0 && op.bytes <= kInline) std::memcpy(op.small.data(), op.local, op.bytes);
  if (!write(op)) return cancel(op);
  if (op.bytes > whole_ && !signal(op.signal)) redo_.push(op);
  return true;
}

// The bytes; up to whole_ with the signal.
bool DirectEndpoint::write(Op& op) noexcept {
  const bool whole = op.bytes <= whole_;
  const bool small = op.bytes <= kInline;
  void* desc = ops_mr_ ? (small ? fi_mr_desc(ops_mr_.get()) : op.region->descriptor()) : nullptr;
  const iovec source{small ? op.small.data() : op.local, op.bytes};
  const fi_rma_iov target = op.bytes == 0 ? fi_rma_iov{theirs_.door, 0, theirs_.door_key}
                                          : fi_rma_iov{op.key->base + op.offset, op.bytes, op.key->key};
  const uint32_t word = signal_word(uint16_t(theirs_.stamp + sent_), op.signal.counter, op.signal.add);
  const fi_msg_rma message{&source, &desc, 1, peer_, &target, 1, static_cast<Context*>(&op), word};
  const uint64_t flags = FI_COMPLETION | (whole ? FI_REMOTE_CQ_DATA : 0) |
                         (op.when == When::delivered ? FI_DELIVERY_COMPLETE : 0);
  op.moved = 0;
  if (!went(fi_writemsg(ep_.get(), &message, flags), "a write")) return false;
  sent_ += whole;
  return true;
}

bool DirectEndpoint::signal(Signal signal) noexcept {
  if (!has_ops(1)) return false;
  Transfer alone;
  alone.signal = signal;
  Op& op = take_op(alone);
  op.step = Step::moved;
  return write(op) || cancel(op);
}

// It was not taken: no Done comes of it.
bool DirectEndpoint::cancel(Op& op) noexcept {
  op.when = When::never;
  if (op.used) finish(op, Code::ok);
  return false;
}

// Its bytes are written. Without its signal it is not done.
void DirectEndpoint::written(Op& op) noexcept {
  op.moved = op.bytes;
  if (redo_.front() != &op) finish(op, Code::ok);
}

// Where there was no room for a signal behind its bytes, the connection may have been made anew in between,
// without the bytes. So they are written once more.
void DirectEndpoint::push(size_t& budget) noexcept {
  if (Op* op = redo_.front();
      op != nullptr && state_ == State::ready && op->moved == op->bytes && write(*op)) {
    if (signal(op->signal)) redo_.pop();
  }
  MessageEndpoint::push(budget);
}

void DirectEndpoint::signalled(uint64_t word) noexcept {
  const uint16_t counter = uint16_t(word >> 10) % kCounters, n = uint16_t(word & kMaxAdd);
  if (uint16_t(word >> 16) != uint16_t(ticket_.stamp + seen_) || word >> 32 != 0)
    return fail(Code::peer, std::string("it sent ") + describe(uint64_t(Refusal::order)));
  if (n != 0 && counter >= counter_count_)
    return fail(Code::auth, std::string("it sent ") + describe(uint64_t(Refusal::counter)));
  ++seen_;
  if (n != 0) add(counter, n);
}

}  // namespace plait::transport::ofi
