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
#include <typeinfo>

#include "transport/ofi/domain.h"

namespace plait::transport::ofi {

DirectEndpoint::DirectEndpoint(OfiDomain& domain, const am::TicketHead& mine, uint64_t cookie)
    : OfiEndpoint(domain, mine, cookie),
      rings_(domain.device().choice.rings()),
      bells_(map_pages(kBells * sizeof(uint64_t))) {}

Status DirectEndpoint::start() {
  Device& d = ours().device();
  const size_t depth = ours().capabilities().depth;
  if (!bells_) return Status(Code::memory, "ofi: no address space for an endpoint");
  writes_ = std::make_unique<Write[]>(depth);
  for (size_t i = depth; i-- > 0;) {
    writes_[i].step = Step::moved;
    writes_[i].next = std::exchange(free_write_, &writes_[i]);
  }
  if (d.choice.needs(FI_MR_LOCAL)) {
    auto writes = d.enroll(writes_.get(), depth * sizeof(Write), 0);
    if (!writes.ok()) return writes.status();
    writes_mr_ = std::move(*writes);
  }
  auto bells = d.enroll(bells_.data(), bells_.size(), FI_REMOTE_WRITE);
  if (!bells.ok()) return bells.status();
  bells_mr_ = std::move(*bells);
  where_.stamp = uint16_t(random_word());
  where_.bells = d.base_of(bells_.data());
  where_.bells_key = fi_mr_key(bells_mr_.get());
  return OfiEndpoint::start();
}

DirectEndpoint::~DirectEndpoint() {
  leave();
  if (!forked()) return;
  (void)bells_mr_.release();
  (void)writes_mr_.release();
}

void DirectEndpoint::let_go() noexcept {
  OfiEndpoint::let_go();
  for (size_t i = 0; writes_ && i < ours().capabilities().depth; ++i) writes_[i].op = nullptr;
}

Result<std::unique_ptr<RemoteRegion>> DirectEndpoint::import(ByteView view) {
  const auto key = parse_key(view);
  if (!key.ok()) return key.status();
  const auto plain = MessageEndpoint::import(bytes_of(key->region));
  if (!plain.ok()) return plain.status();
  return std::unique_ptr<RemoteRegion>(std::make_unique<DirectPeerRegion>(this, *key));
}

const char* DirectEndpoint::refusal(const Transfer& t) const noexcept {
  const Capabilities& can = ours().capabilities();
  if (const char* why = refusal_of(t, theirs().counters)) return why;
  if (t.verb != Verb::flush && t.remote.bytes != 0) {
    const RemoteRegion& remote = *t.remote.region;
    if (typeid(remote) != typeid(DirectPeerRegion)) return "no remote region of libfabric's";
    if (static_cast<const DirectPeerRegion&>(remote).endpoint() != this)
      return "the remote region was imported by another endpoint";
  }
  if (t.verb != Verb::put) return nullptr;
  if (t.signal.add > can.max_add) return "it adds more than max_add";
  if (t.remote.bytes > can.max_transfer) return "it is longer than max_transfer";
  if (!can.local_needs_region || t.remote.bytes <= kInline) return nullptr;
  const Region* region = t.local.region;
  const bool here = region != nullptr && typeid(*region) == typeid(DirectRegion) &&
                    static_cast<const DirectRegion*>(region)->device() == &device();
  return here ? nullptr
              : "the local memory is not exposed by this domain, which moves from exposed memory only";
}

bool DirectEndpoint::take(const Transfer& t) noexcept {
  if (t.verb == Verb::get) return MessageEndpoint::take(t);
  const bool room = !waits(t.signal.counter) && (!rings_ || sent_ - taken_ < kBells - kSpareBells);
  if (room && write(t, true)) return true;
  ours().starved();
  return false;
}

// Not `told`: its own end is of no interest.
bool DirectEndpoint::write(const Transfer& t, bool told) noexcept {
  if (free_write_ == nullptr) return false;
  Write& w = *free_write_;
  const size_t bytes = t.remote.bytes;
  const bool small = bytes <= kInline;
  if (bytes != 0 && small) std::memcpy(w.small.data(), t.local.data, bytes);
  const uint16_t counter = t.signal.add == 0 ? uint16_t{0} : t.signal.counter;
  const uint32_t word = signal_word(their_where_.stamp + sent_, counter, t.signal.add);
  w.bell = bell(sent_, uint16_t(seen_), word);
  const size_t bell_bytes = rings_ ? sizeof w.bell : 0;
  const Key key = bytes == 0 ? Key() : static_cast<const DirectPeerRegion*>(t.remote.region)->key();
  const iovec from[2] = {{small ? w.small.data() : t.local.data, bytes}, {&w.bell, bell_bytes}};
  const fi_rma_iov to[2] = {
      {key.base + (bytes == 0 ? 0 : t.remote.offset), bytes, key.key},
      {their_where_.bells + sent_ % kBells * bell_bytes, bell_bytes, their_where_.bells_key}};
  void* of_writes = writes_mr_ ? fi_mr_desc(writes_mr_.get()) : nullptr;
  const auto* region = static_cast<const DirectRegion*>(t.local.region);
  void* desc[2] = {small || of_writes == nullptr ? of_writes : region->descriptor(), of_writes};
  const size_t first = bytes == 0 ? 1 : 0, count = rings_ ? 2 - first : 1;
  const fi_msg_rma message{
      from + first, desc + first, count, peer_, to + first, count, static_cast<Context*>(&w), word};
  const uint64_t flags = FI_COMPLETION | (rings_ ? 0 : FI_REMOTE_CQ_DATA) |
                         (t.when == When::delivered ? FI_DELIVERY_COMPLETE : 0);
  if (went(fi_writemsg(ep_.get(), &message, flags), "a write") != am::Sent::done) return false;
  free_write_ = w.next;
  if (told) (w.op = &ops().take())->fill(t);
  ++sent_;
  told_ = seen_;
  return true;
}

void DirectEndpoint::written(Context& context) noexcept {
  auto& w = static_cast<Write&>(context);
  w.next = std::exchange(free_write_, &w);
  if (Op* op = std::exchange(w.op, nullptr)) finished(*op, Code::ok);
}

// A bell that came before the next one shows that the next one is lost; each time another place is looked at.
void DirectEndpoint::listen() noexcept {
  for (; rings_ && state() == State::ready && rang(seen_); quiet = 0) {
    const uint64_t bell = bells()[seen_ % kBells];
    const auto taken = uint16_t(uint16_t(bell >> 32) - uint16_t(taken_));
    if (taken > sent_ - taken_) return signalled(UINT64_MAX);
    taken_ += taken;
    signalled(uint32_t(bell));
  }
  if (!rings_ || state() != State::ready) return;
  if (rang(seen_ + 1 + look_++ % (kBells - 1))) return signalled(UINT64_MAX);
  if (owes() && sent_ - taken_ < kBells) write({}, false);
}

OfiEndpoint::Rest DirectEndpoint::rest() const noexcept {
  for (uint64_t i = 0; rings_ && state() == State::ready && i < kBells; ++i) {
    if (rang(seen_ + i)) return Rest::now;
  }
  const Rest rest = OfiEndpoint::rest();
  return rest == Rest::sleep && owes() && state() == State::ready ? Rest::soon : rest;
}

void DirectEndpoint::signalled(uint64_t word) noexcept {
  const uint16_t counter = uint16_t(word >> kAddBits) % am::kCounters, n = uint16_t(word & kMaxAdd);
  if (word >> 32 != 0 || !has_stamp(uint32_t(word), where_.stamp + seen_)) return refuse(Refusal::order);
  if (n != 0 && counter >= mine().counters) return refuse(Refusal::counter);
  ++seen_;
  if (n != 0) signal(counter, n);
}

}  // namespace plait::transport::ofi
