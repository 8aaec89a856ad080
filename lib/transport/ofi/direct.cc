// Puts as RDMA writes, each with data for the target's queue: its number among all writes of the endpoint,
// which shows the target whether one is missing (a provider that loses a connection makes another without a
// word, and forgets what it was told to inject), and the signal.
#include <cstring>

#include "transport/ofi/domain.h"

namespace plait::transport::ofi {

bool DirectEndpoint::take(const Transfer& t) noexcept {
  if (t.verb == Verb::get) return MessageEndpoint::take(t);
  if (queue_.front() != nullptr || gets_[t.signal.counter] != 0) return false;  // a write may overtake a get
  const size_t bytes = t.remote.bytes;
  uint64_t to = theirs_.door, key = theirs_.door_key;
  if (bytes != 0) {
    const Key& k = static_cast<const PeerRegion*>(t.remote.region)->key();
    to = k.base + t.remote.offset;
    key = k.key;
  }
  const uint32_t word = signal_word(uint16_t(theirs_.stamp + sent_), t.signal.counter, t.signal.add);
  static std::byte nothing{};
  std::byte* from = bytes == 0 ? &nothing : t.local.data;
  if (bytes <= inject_ && t.when != When::delivered) {
    if (!went(fi_inject_writedata(ep_.get(), from, bytes, word, peer_, to, key), "a write")) return false;
    ++sent_;
    done(t.when, t.cookie, Code::ok);
    return true;
  }
  Op& op = take_op(t);
  op.step = Step::moved;
  void* desc = nullptr;
  if (bytes > inject_ && bytes <= kInline) {  // read in post()
    std::memcpy(op.small.data(), from, bytes);
    from = op.small.data();
    if (ops_mr_) desc = fi_mr_desc(ops_mr_.get());
  } else if (bytes > kInline && ops_mr_) {
    desc = static_cast<const OfiRegion*>(t.local.region)->descriptor();
  }
  const iovec source{from, bytes};
  const fi_rma_iov target{to, bytes, key};
  const fi_msg_rma message{&source, &desc, 1, peer_, &target, 1, static_cast<Context*>(&op), word};
  const uint64_t flags = FI_REMOTE_CQ_DATA | FI_COMPLETION | (bytes <= inject_ ? FI_INJECT : 0) |
                         (t.when == When::delivered ? FI_DELIVERY_COMPLETE : 0);
  const ssize_t rc = fi_writemsg(ep_.get(), &message, flags);
  if (rc != 0) {
    op.when = When::never;
    finish(op, Code::ok);
  }
  if (!went(rc, "a write")) return false;
  ++sent_;
  return true;
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
