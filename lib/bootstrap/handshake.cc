#include "bootstrap/handshake.h"

#include <algorithm>

namespace plait::bootstrap {
namespace {

constexpr std::array<char, 8> kMagic = {'P', 'L', 'A', 'I', 'T', 'b', 's', '\n'};
// The proofs, the keys of both directions: each HMAC says what it is for, so that none serves as another.
constexpr std::string_view kDialerProof = "plait bootstrap 1: the dialer knows the secret";
constexpr std::string_view kListenerProof = "plait bootstrap 1: the listener knows the secret";
constexpr std::string_view kDialerKey = "plait bootstrap 1: key of what the dialer sends";
constexpr std::string_view kListenerKey = "plait bootstrap 1: key of what the listener sends";

// Alike in every version, so that versions can refuse each other with a sentence.
struct Preamble {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kProtocol;
  uint32_t trust = 0;
};

struct Verdict {
  uint32_t refused = 0;
  uint32_t zero = 0;
  Digest proof{};
};
static_assert(sizeof(Preamble) == 16 && sizeof(Verdict) == Handshake::kVerdict);
static_assert(sizeof(Preamble) + sizeof(Nonce) == Handshake::kGreeting);
static_assert(Handshake::kGreeting + sizeof(Claim) + sizeof(Digest) == Handshake::kProposal);

std::string describe(uint32_t trust) {
  switch (Trust(trust)) {
    case Trust::secret:
      return "with a secret (PLAIT_SECRET_FILE)";
    case Trust::host:
      return "without a secret, inside its host only";
    case Trust::insecure:
      return "without a secret (PLAIT_INSECURE=1)";
  }
  return "in a way this version does not know";
}

}  // namespace

Key Trusted::key() const {
  // Hashed to one size first; HMAC would do so for long keys only.
  static constexpr std::string_view kPublic = "plait bootstrap: no secret";
  const ByteView bytes = secret ? secret->bytes() : std::as_bytes(std::span(kPublic));
  Key key;
  key.bytes = sha256(bytes);
  return key;
}

Handshake::Handshake(const Trusted& trusted, bool dials, std::optional<Nonce> nonce)
    : key_(trusted.key()), trust_(trusted.trust), dials_(dials) {
  if (nonce) {
    nonce_ = *nonce;
    return;
  }
  Status status = random_bytes(nonce_);
  if (!status.ok()) fail(status.code(), std::string(status.text()));
}

Handshake Handshake::listener(const Trusted& trusted, std::optional<Nonce> nonce) {
  Handshake h(trusted, false, nonce);
  append(h.output_, Preamble{.trust = uint32_t(h.trust_)});
  append(h.output_, h.nonce_);
  h.transcript_ = h.output_;
  h.wanted_ = kProposal;
  return h;
}

Handshake Handshake::dialer(const Trusted& trusted, const Claim& claim, std::optional<Nonce> nonce) {
  Handshake h(trusted, true, nonce);
  h.claim_ = claim;
  h.wanted_ = kGreeting;
  return h;
}

void Handshake::feed(ByteView bytes) {
  if (state_ != State::running) return;
  bytes = bytes.first(std::min(bytes.size(), wanted()));
  input_.insert(input_.end(), bytes.begin(), bytes.end());
  const bool verdict = dials_ && wanted_ == kVerdict;
  // The preamble is judged as soon as it is there: who does not fit may send nothing else.
  if (!verdict && !preamble_fits()) return;
  if (input_.size() < wanted_) return;
  if (!dials_) {
    take_proposal();
  } else if (verdict) {
    take_verdict();
  } else {
    take_greeting();
  }
}

bool Handshake::preamble_fits() {
  const auto magic = std::as_bytes(std::span(kMagic));
  const size_t seen = std::min(input_.size(), magic.size());
  if (!std::equal(input_.begin(), input_.begin() + ptrdiff_t(seen), magic.begin())) {
    fail(Code::auth, "what came is not plait's handshake: another program is at the other end");
    return false;
  }
  Preamble theirs;
  ByteView view = input_;
  if (!take(view, theirs)) return true;  // so far
  if (theirs.version == kProtocol && theirs.trust == uint32_t(trust_)) return true;
  // The other side can then say the same.
  if (dials_) append(output_, Preamble{.trust = uint32_t(trust_)});
  if (theirs.version != kProtocol) {
    fail(Code::version, "the other side speaks version " + std::to_string(theirs.version) +
                            " of the bootstrap, this rank version " + std::to_string(kProtocol) +
                            ": all ranks must run the same plait");
  } else {
    fail(Code::auth, "the other side runs " + describe(theirs.trust) + ", this rank " +
                         describe(uint32_t(trust_)) + ": start all ranks alike");
  }
  return false;
}

void Handshake::take_greeting() {
  transcript_ = std::exchange(input_, {});
  Bytes proposal;
  append(proposal, Preamble{.trust = uint32_t(trust_)});
  append(proposal, nonce_);
  append(proposal, claim_);
  transcript_.insert(transcript_.end(), proposal.begin(), proposal.end());
  append(proposal, proof(kDialerProof));
  output_.insert(output_.end(), proposal.begin(), proposal.end());
  wanted_ = kVerdict;
}

void Handshake::take_proposal() {
  const size_t proved = kProposal - sizeof(Digest);
  transcript_.insert(transcript_.end(), input_.begin(), input_.begin() + ptrdiff_t(proved));
  Digest theirs;
  std::memcpy(theirs.data(), input_.data() + proved, sizeof theirs);
  wanted_ = 0;
  const Bytes input = std::exchange(input_, {});
  if (!same(theirs, proof(kDialerProof))) {
    append(output_, Verdict{.refused = 1});
    fail(Code::auth, "its proof is wrong: it has another secret, or none");
    return;
  }
  ByteView claim = ByteView(input).subspan(kGreeting);
  (void)take(claim, claim_);
  append(output_, Verdict{.proof = proof(kListenerProof)});
  state_ = State::done;
}

void Handshake::take_verdict() {
  Verdict verdict;
  ByteView view = input_;
  (void)take(view, verdict);
  wanted_ = 0;
  input_.clear();
  if (verdict.refused != 0) {
    fail(Code::auth,
         "it refused this rank's proof: the secrets differ (PLAIT_SECRET_FILE must hold the same bytes "
         "for all ranks), or it belongs to another job");
  } else if (verdict.zero != 0 || !same(verdict.proof, proof(kListenerProof))) {
    fail(Code::auth, "it did not prove that it knows the job's secret");
  } else {
    state_ = State::done;
  }
}

void Handshake::fail(Code code, std::string text) {
  state_ = State::failed;
  status_ = Status(code, std::move(text));
  wanted_ = 0;
  input_.clear();
}

// Over everything that both sides said, in their order: versions, trust, nonces, claim.
Digest Handshake::proof(std::string_view label) const {
  return Mac(key_.bytes).add(label).add(transcript_).finish();
}

SessionKeys Handshake::keys() const {
  SessionKeys keys;
  keys.send.bytes = proof(dials_ ? kDialerKey : kListenerKey);
  keys.receive.bytes = proof(dials_ ? kListenerKey : kDialerKey);
  return keys;
}

}  // namespace plait::bootstrap
