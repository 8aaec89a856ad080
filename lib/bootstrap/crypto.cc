#include "bootstrap/crypto.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <sys/random.h>

#include <cerrno>

namespace plait::bootstrap {
namespace {

const unsigned char* data_of(ByteView bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

// Looked up once: each look-up takes a lock that hundreds of joining threads would queue at. Never freed.
EVP_MAC* hmac() {
  static EVP_MAC* mac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  return mac;
}

Digest unmatched() {
  Digest digest{};
  (void)random_bytes(digest);
  return digest;
}

}  // namespace

Key::~Key() { wipe(bytes); }

Mac::Mac(ByteView key) : context_(hmac() == nullptr ? nullptr : EVP_MAC_CTX_new(hmac())), ok_(false) {
  char name[] = "SHA256";
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
                                   OSSL_PARAM_construct_end()};
  ok_ = context_ != nullptr && EVP_MAC_init(context_, data_of(key), key.size(), parameters) == 1;
}

Mac::~Mac() { EVP_MAC_CTX_free(context_); }

Mac& Mac::add(ByteView bytes) {
  ok_ = ok_ && (bytes.empty() || EVP_MAC_update(context_, data_of(bytes), bytes.size()) == 1);
  return *this;
}

Digest Mac::finish() {
  Digest digest;
  size_t written = 0;
  ok_ = ok_ &&
        EVP_MAC_final(context_, reinterpret_cast<unsigned char*>(digest.data()), &written, digest.size()) ==
            1 &&
        written == digest.size();
  return ok_ ? digest : unmatched();
}

// One block is as long as the key: expanding takes one step.
Key derive(ByteView secret, ByteView salt, std::string_view label) {
  constexpr std::byte kFirst[] = {std::byte{1}};
  Key extracted, key;
  extracted.bytes = Mac(salt).add(secret).finish();
  key.bytes = Mac(extracted.bytes).add(label).add(ByteView(kFirst)).finish();
  return key;
}

Digest sha256(ByteView bytes) {
  Digest digest;
  auto* to = reinterpret_cast<unsigned char*>(digest.data());
  unsigned written = 0;
  const bool ok = EVP_Digest(bytes.data(), bytes.size(), to, &written, EVP_sha256(), nullptr) == 1;
  return ok && written == digest.size() ? digest : unmatched();
}

bool same(const Digest& a, const Digest& b) noexcept {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Status random_bytes(std::span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t n = getrandom(to.data(), to.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Status::system(errno, "no random bytes from the kernel (getrandom)");
    to = to.subspan(size_t(n));
  }
  return {};
}

void wipe(std::span<std::byte> bytes) noexcept { OPENSSL_cleanse(bytes.data(), bytes.size()); }

}  // namespace plait::bootstrap
