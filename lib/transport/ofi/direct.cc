// Puts as RDMA writes, one each, with the signal: its number among all signals of the endpoint, a counter and
// what to add. The number shows the target whether one is missing: a provider that loses a connection makes
// another without a word, and what it was told to inject, or gave to the kernel, is gone.
//
// The signal is the data of the write for the target's queue. The tcp provider of libfabric 1.17 crashes
// where a connection ends within such a write; so there (Choice::rings) the signal is a bell, which the write
// puts behind the bytes: it gathers the two, and scatters them to the region and the target's ring of bells.
// What was heard is told with each bell of the other way, so that none is written over before; the spare ones
// are for bells that only tell that. It also crashes where one ends before injected writes have gone: nothing
// is injected.
#include <cstring>

#include "transport/ofi/domain.h"

namespace plait::transport::ofi {

DirectEndpoint::DirectEndpoint(OfiDomain& domain, uint16_t counters, uint64_t cookie)
    : MessageEndpoint(domain, counters, cookie), rings_(device().choice.rings()) {}

bool DirectEndpoint::take(const Transfer& t) noexcept {
  if (t.verb == Verb::get) return MessageEndpoint::take(t);
  if (queue_.front() != nullptr || gets_[t.signal.counter] != 0) return false;
  return (!rings_ || sent_ - taken_ < kBells - kSpareBells) && write(t);
}

bool DirectEndpoint::write(const Transfer& t) noexcept {
  Op& op = take_op(t);
  op.step = Step::moved;
  const bool small = op.bytes <= kInline;
  if (op.bytes != 0 && small) std::memcpy(op.small.data(), op.local, op.bytes);
  const uint32_t word = signal_word(uint16_t(theirs_.stamp + sent_), t.signal.counter, t.signal.add);
  op.bell = bell(sent_, uint16_t(seen_), word);
  const size_t bell_bytes = rings_ ? sizeof op.bell : 0;
  const iovec from[2] = {{small ? op.small.data() : op.local, op.bytes}, {&op.bell, bell_bytes}};
  const fi_rma_iov to[2] = {
      {op.bytes == 0 ? 0 : op.key->base + op.offset, op.bytes, op.bytes == 0 ? 0 : op.key->key},
      {theirs_.bells + sent_ % kBells * bell_bytes, bell_bytes, theirs_.bells_key}};
  void* of_ops = ops_mr_ ? fi_mr_desc(ops_mr_.get()) : nullptr;
  const auto* region = static_cast<const OfiRegion*>(t.local.region);
  void* desc[2] = {small || of_ops == nullptr ? of_ops : region->descriptor(), of_ops};
  const size_t first = op.bytes == 0 ? 1 : 0, count = rings_ ? 2 - first : 1;
  const fi_msg_rma message{
      from + first, desc + first, count, peer_, to + first, count, static_cast<Context*>(&op), word};
  const uint64_t flags = FI_COMPLETION | (rings_ ? 0 : FI_REMOTE_CQ_DATA) |
                         (op.when == When::delivered ? FI_DELIVERY_COMPLETE : 0);
  if (!went(fi_writemsg(ep_.get(), &message, flags), "a write")) {
    op.when = When::never;  // it was not taken: no Done comes of it
    if (op.used) finish(op, Code::ok);
    return false;
  }
  ++sent_;
  told_ = seen_;
  return true;
}

// A bell that came before the next one shows that the next one is lost; each time another place is looked at.
void DirectEndpoint::listen() noexcept {
  for (; rings_ && state_ == State::ready && rang(seen_); quiet = 0) {
    const uint64_t bell = bells_[seen_ % kBells];
    const auto taken = uint16_t(uint16_t(bell >> 32) - uint16_t(taken_));
    if (taken > sent_ - taken_) return signalled(UINT64_MAX);
    taken_ += taken;
    signalled(uint32_t(bell));
  }
  if (rings_ && state_ == State::ready && rang(seen_ + 1 + look_++ % (kBells - 1))) signalled(UINT64_MAX);
}

OfiEndpoint::Rest DirectEndpoint::rest() const noexcept {
  for (uint64_t i = 0; rings_ && state_ == State::ready && i < kBells; ++i) {
    if (rang(seen_ + i)) return Rest::now;
  }
  return MessageEndpoint::rest();
}

void DirectEndpoint::push(size_t& budget) noexcept {
  if (owes() && state_ == State::ready && free_op_ != nullptr && sent_ - taken_ < kBells) write({});
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
