// Who is at the other end: a mutual challenge and response, as bytes in and bytes out. docs/security.md
// writes it down.
//
//   listener -> dialer   Greeting   version, trust, nonce
//   dialer -> listener   Proposal   version, trust, nonce, claim, proof
//   listener -> dialer   Verdict    accepted or not, proof
//
// Every message has one size. Of the dialer nothing but its version and trust is looked at before its proof
// is found right, and the listener proves itself only to who did.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "bootstrap/crypto.h"
#include "bootstrap/secret.h"

namespace plait::bootstrap {

constexpr uint32_t kProtocol = 1;  // bumped when any message of the bootstrap changes its meaning

// What the proof of a peer is worth. Both sides must agree.
enum class Trust : uint32_t {
  secret = 1,   // it knows the job's secret
  host = 2,     // the kernel says that it is a process of the same user on this host
  insecure = 3  // nothing
};

// What both sides prove with. Without a secret the key is public: then the same messages are exchanged, and
// only guard against mistakes.
struct Trusted {
  Trust trust = Trust::insecure;
  SecretPtr secret;
  Key key() const;
};

enum class Purpose : uint32_t { tree = 1, meeting = 2 };

// What a dialer says of itself and of whom it wants to reach. Bound into both proofs. Judged by the caller,
// after.
struct Claim {
  Digest job{};  // hash of the job's name
  uint32_t epoch = 0;
  int32_t dialer = -1, listener = -1;  // ranks
  uint32_t purpose = 0;
};
static_assert(sizeof(Claim) == 48 && std::has_unique_object_representations_v<Claim>);

using Nonce = std::array<std::byte, 32>;

struct SessionKeys {
  Key send, receive;
};

class Handshake {
 public:
  enum class State : uint8_t { running, done, failed };
  static constexpr size_t kGreeting = 48, kProposal = 128, kVerdict = 40;

  // A nonce is given only by tests.
  static Handshake listener(const Trusted& trusted, std::optional<Nonce> nonce = {});
  static Handshake dialer(const Trusted& trusted, const Claim& claim, std::optional<Nonce> nonce = {});

  // How many bytes the peer owes at most, now: reading more would take what follows the handshake.
  size_t wanted() const noexcept { return wanted_ - input_.size(); }
  // At most wanted() bytes.
  void feed(ByteView bytes);
  // What is to be sent. Also after it failed: the peer may be told why.
  Bytes output() { return std::exchange(output_, {}); }

  State state() const noexcept { return state_; }
  // Code::version, Code::auth; of an unproved peer, hence a hint.
  const Status& status() const noexcept { return status_; }
  // The dialer's, once done.
  const Claim& claim() const noexcept { return claim_; }
  SessionKeys keys() const;

 private:
  Handshake(const Trusted& trusted, bool dials, std::optional<Nonce> nonce);
  void take_greeting();
  void take_proposal();
  void take_verdict();
  bool preamble_fits();
  void fail(Code code, std::string text);
  Digest proof(std::string_view label) const;

  Key key_;
  Trust trust_;
  bool dials_;
  State state_ = State::running;
  Status status_;
  Nonce nonce_{};
  Claim claim_;
  size_t wanted_ = 0;
  Bytes input_, output_, transcript_;
};

}  // namespace plait::bootstrap
