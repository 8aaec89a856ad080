// The handshake of the bootstrap: a stranger against either role, and an honest one that somebody on the path
// changes.
#include "bootstrap/handshake.h"

#include "fuzz.h"

namespace plait::fuzz {
namespace {

using namespace bootstrap;
using State = Handshake::State;

const Trusted& trusted() {
  static constexpr std::string_view kSecret = "a secret of the fuzzer";
  static const Trusted known{Trust::secret,
                             std::make_shared<const Secret>(std::as_bytes(std::span(kSecret)))};
  return known;
}

// Fixed, so that an input always does the same. No nonce is used twice: what one role says is of no use to
// another.
Nonce nonce_of(uint8_t value) {
  Nonce nonce;
  nonce.fill(std::byte(value));
  return nonce;
}

// Feeds it in pieces of 1 to 256 bytes; returns what it says.
Bytes feed(Handshake& to, ByteView bytes, uint8_t cut) {
  Bytes said = to.output();
  while (!bytes.empty() && to.wanted() > 0) {
    const size_t before = to.wanted();
    const ByteView piece = bytes.first(std::min({bytes.size(), size_t(cut) + 1, before}));
    bytes = bytes.subspan(piece.size());
    to.feed(piece);
    const Bytes more = to.output();
    said.insert(said.end(), more.begin(), more.end());
  }
  require(to.wanted() <= Handshake::kProposal, "nobody owes more than the longest message");
  require(said.size() <= Handshake::kGreeting + Handshake::kProposal, "little is said to strangers");
  require(to.state() == State::running || to.wanted() == 0, "who is done wants no more");
  require((to.state() == State::failed) == !to.status().ok(), "who fails says why");
  return said;
}

void stranger(Input& input) {
  const bool dials = input.number() % 2 == 0;
  const uint8_t cut = input.number();
  Handshake us =
      dials ? Handshake::dialer(trusted(), {}, nonce_of(1)) : Handshake::listener(trusted(), nonce_of(2));
  feed(us, input.rest(), cut);
  require(us.state() != State::done, "who does not know the secret does not get in");
}

// Up to four bytes of a message are changed, and its end may be missing. True: it is another message now.
bool change(Bytes& message, Input& input) {
  const Bytes before = message;
  for (uint8_t left = input.number() % 5; left > 0; left--) {
    const uint8_t at = input.number();
    if (at < message.size()) message[at] ^= std::byte(input.number());
  }
  message.resize(message.size() - std::min<size_t>(message.size(), input.number()));
  return message != before;
}

void changed(Input& input) {
  Claim claim;
  claim.epoch = input.number();
  claim.dialer = input.number();
  const uint8_t cut = input.number();
  Handshake listener = Handshake::listener(trusted(), nonce_of(3));
  Handshake dialer = Handshake::dialer(trusted(), claim, nonce_of(4));
  Bytes greeting = listener.output();
  const bool greeting_changed = change(greeting, input);
  Bytes proposal = feed(dialer, greeting, cut);
  const bool proposal_changed = change(proposal, input);
  Bytes verdict = feed(listener, proposal, cut);
  const bool verdict_changed = change(verdict, input);
  feed(dialer, verdict, cut);
  const bool listener_fooled = greeting_changed || proposal_changed;
  require((listener.state() == State::done) == !listener_fooled,
          "a listener lets in exactly who says all as it is");
  require((dialer.state() == State::done) == !(listener_fooled || verdict_changed),
          "a dialer stays with exactly who says all as it is");
  if (listener.state() == State::done)
    require(listener.claim().epoch == claim.epoch && listener.claim().dialer == claim.dialer,
            "a claim arrives");
  if (dialer.state() != State::done) return;
  require(dialer.keys().send.bytes == listener.keys().receive.bytes &&
              dialer.keys().receive.bytes == listener.keys().send.bytes,
          "both have the same two keys");
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  return try_one_of(data, size, {stranger, changed});
}
