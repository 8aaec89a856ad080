#include "transport/ofi/direct.h"

#include <typeinfo>

#include "fabric/bell_message.h"
#include "transport/ofi/domain.h"

namespace plait::transport::ofi {

static_assert(fabric::Bells::kRing < 1U << kStampBits && fabric::SignalledWrites::kSmall == kInline);

// A bell that is skipped may come as a message that the provider has, and has not given yet. It has none
// after so many looks that found nothing.
constexpr uint32_t kNoneLeft = 64;
constexpr uint32_t kWaiting = 3;  // looks in vain for a bell, from which on the peer is the slower one

Status DirectEndpoint::start() {
  PLAIT_TRY(writes_.open(device(), line_, ours().capabilities().depth));
  where_.stamp = uint16_t(random_word());
  where_.bells = writes_.bells().ring().base();
  where_.bells_key = writes_.bells().ring().key();
  return OfiEndpoint::start();
}

Status DirectEndpoint::reach(const am::Ticket& peer) {
  PLAIT_TRY(OfiEndpoint::reach(peer));
  writes_.meet(their_where_.bells, their_where_.bells_key);
  return {};
}

void DirectEndpoint::let_go() noexcept {
  OfiEndpoint::let_go();
  writes_.forget_users();
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
  if (const char* why = OfiEndpoint::refusal(t)) return why;
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
  const bool bare =
      rings() && much_ && waited_ < kWaiting && t.remote.bytes == 0 && t.when != When::delivered;
  if (waits(t.signal.counter) || !writes_.has_room() || !(bare ? ring(t.signal) : write(t))) {
    ours().starved();
    return false;
  }
  if (bare && t.when == When::reusable) add_done(t.cookie, Code::ok);
  return true;
}

bool DirectEndpoint::write(const Transfer& t) noexcept {
  fabric::SignalledWrites::Write w;
  w.word = word_of(t.signal);
  w.delivered = t.when == When::delivered;
  if ((w.bytes = t.remote.bytes) != 0) {
    const Key& key = static_cast<const DirectPeerRegion*>(t.remote.region)->key();
    w.from = t.local.data;
    w.to = key.base + t.remote.offset;
    w.key = key.key;
    // Elsewhere the region may be another back end's, or none.
    if (ours().capabilities().local_needs_region && w.bytes > kInline)
      w.descriptor = static_cast<const DirectRegion*>(t.local.region)->descriptor();
  }
  if (went(writes_.write(w), "a write") != am::Sent::done) return false;
  Op& op = ops().take();
  op.fill(t);
  writes_.set_user(&op);
  return true;
}

void DirectEndpoint::written(fabric::Context& context) noexcept {
  if (void* op = writes_.completed(context)) finished(*static_cast<Op*>(op), Code::ok);
}

bool DirectEndpoint::ring(const Signal& signal) noexcept {
  return went(writes_.ring(theirs().endpoint, word_of(signal)), "a signal") == am::Sent::done;
}

// All that its sender wrote before has landed.
void DirectEndpoint::other(ByteView bytes) noexcept {
  const auto message = fabric::parse_bell_message(bytes);
  if (!rings() || !message || message->to != nonce()) return;
  fabric::Bells& bells = writes_.bells();
  if (!bells.put(message->number, message->bell)) return refuse(Refusal::order);
  listen();
  if (state() == State::ready && bells.heard() <= message->number) refuse(Refusal::order);
}

void DirectEndpoint::listen() noexcept {
  if (!rings()) return;
  fabric::Bells& bells = writes_.bells();
  for (bool more = false; state() == State::ready && bells.front(); more = true) {
    waited_ = more ? kWaiting : std::exchange(quiet, 0);
    much_ = bells.much();
    const uint32_t word = *bells.front();
    if (!bells.hear()) return refuse(Refusal::order);
    signalled(word);
  }
  if (state() != State::ready) return;
  if (bells.skipped() && quiet > kNoneLeft && OfiEndpoint::rest() != Rest::now) return refuse(Refusal::order);
  if (bells.owes()) ring({});
}

OfiEndpoint::Rest DirectEndpoint::rest() const noexcept {
  const Rest rest = OfiEndpoint::rest();
  if (!rings() || state() != State::ready) return rest;
  if (writes_.bells().ringing()) return Rest::now;
  return rest == Rest::sleep && writes_.bells().owes() ? Rest::soon : rest;
}

void DirectEndpoint::signalled(uint32_t word) noexcept {
  const Signal s = signal_of(word);
  if (!has_stamp(word, where_.stamp + seen_)) return refuse(Refusal::order);
  if (s.add != 0 && s.counter >= mine().counters) return refuse(Refusal::counter);
  ++seen_;
  if (s.add != 0) signal(s.counter, s.add);
}

}  // namespace plait::transport::ofi
