// The frames of the bootstrap, off a connection that gives them in pieces of any size: those of a stranger,
// who has no key, and honest ones that somebody on the path changed.
#include "bootstrap/frame.h"

#include "fuzz.h"

namespace plait::fuzz {
namespace {

using namespace bootstrap;

Key key_of(uint8_t value) {
  Key key;
  key.bytes.fill(std::byte(value));
  return key;
}

// Feeds `wire` in pieces whose sizes are those of `cuts`, again and again. What comes out, in order.
std::vector<Bytes> open_all(Opener& opener, ByteView wire, ByteView cuts) {
  std::vector<Bytes> messages;
  size_t fed = 0, given = 0;
  for (size_t i = 0; fed < wire.size(); i++) {
    const size_t cut = cuts.empty() ? 1000 : size_t(cuts[i % cuts.size()]) + 1;
    const ByteView piece = wire.subspan(fed, std::min(cut, wire.size() - fed));
    opener.feed(piece);
    fed += piece.size();
    while (auto message = opener.next()) {
      require(message->size() <= opener.limit(), "no message is longer than the limit");
      given += message->size() + Sealer::kOverhead;
      messages.push_back(std::move(*message));
    }
    require(opener.held() + given <= fed, "nothing is held but what came");
    if (!opener.ok()) {
      opener.feed(wire);
      require(!opener.next() && !opener.ok(), "what broke once stays broken");
      break;
    }
  }
  return messages;
}

void stranger(Input& input) {
  Opener opener(key_of(1));
  opener.limit(input.number<uint32_t>());
  const ByteView cuts = input.bytes(input.number() % 8u);
  require(open_all(opener, input.rest(), cuts).empty(), "who has no key has no message taken");
}

// A few messages of the input's bytes. One byte of what is sent may be changed.
void changed(Input& input) {
  const ByteView cuts = input.bytes(input.number() % 8u);
  const size_t at = input.number<uint16_t>();
  const std::byte change{input.number()};
  Sealer sealer(key_of(1));
  std::vector<Bytes> sent;
  Bytes wire;
  size_t untouched = 0;  // messages that were sent whole before the change
  while (!input.empty() && sent.size() < 16) {
    const ByteView message = input.bytes(input.number());
    sealer.seal(message, wire);
    sent.emplace_back(message.begin(), message.end());
    if (wire.size() <= at) untouched = sent.size();
  }
  const bool changes = at < wire.size() && change != std::byte{0};
  if (changes) wire[at] ^= change;
  Opener opener(key_of(1));
  opener.limit(1000);
  const std::vector<Bytes> got = open_all(opener, wire, cuts);
  require(got.size() == (changes ? untouched : sent.size()),
          "all comes that lies before a change, and no more");
  require(std::equal(got.begin(), got.end(), sent.begin()), "what comes is what was sent");
  require(changes || (opener.ok() && opener.held() == 0), "without a change nothing is left");
}

}  // namespace
}  // namespace plait::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plait::fuzz;
  return try_one_of(data, size, {stranger, changed});
}
