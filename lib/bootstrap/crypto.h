// The few things of OpenSSL that the bootstrap stands on.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"

struct evp_mac_ctx_st;

namespace plait::bootstrap {

using Digest = std::array<std::byte, 32>;

// A key that is wiped when it goes.
struct Key {
  Digest bytes{};
  Key() = default;
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  ~Key();
};

// HMAC-SHA256 over what is added, piece by piece. Where OpenSSL fails (no memory), finish() gives random
// bytes: a proof that nobody can match, so that a failure refuses instead of letting in.
class Mac {
 public:
  explicit Mac(ByteView key);
  Mac(const Mac&) = delete;
  Mac& operator=(const Mac&) = delete;
  ~Mac();
  Mac& add(ByteView bytes);
  Mac& add(std::string_view text) { return add(std::as_bytes(std::span(text))); }
  Digest finish();

 private:
  evp_mac_ctx_st* context_;
  bool ok_;
};

// HKDF-SHA256 (RFC 5869): a key of `secret` for what `label` names.
Key derive(ByteView secret, ByteView salt, std::string_view label);

// SHA-256; random bytes where OpenSSL fails, as above.
Digest sha256(ByteView bytes);

// In a time that does not depend on where they differ.
bool same(const Digest& a, const Digest& b) noexcept;

// Of the kernel's generator. Code::system.
Status random_bytes(std::span<std::byte> to);

void wipe(std::span<std::byte> bytes) noexcept;

}  // namespace plait::bootstrap
