// What all connections of a domain have in common: TLS 1.3 and nothing older, one key, no certificates, no
// tickets.
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cstring>
#include <string_view>

#include "transport/tcp/tls.h"

namespace plait::transport::tcp {

namespace {

constexpr std::string_view kIdentity = "plait tcp 1";
constexpr unsigned char kAes128[2] = {0x13, 0x01};
// Read with one call. What is longer than 64 KiB costs glibc a tidying-up each time it is freed.
constexpr size_t kReadAhead = size_t{56} << 10;
constexpr unsigned char kContext[] = {'p', 'l', 'a', 'i', 't'};  // OpenSSL wants sessions to have one

Status refused(const std::string& what) {
  const char* why = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return Status(Code::unsupported, "tcp: OpenSSL refuses " + what + " (" +
                                       (why != nullptr ? why : "no reason given") +
                                       "): look at its configuration (openssl.cnf)");
}

const TlsKey& key_of(SSL* ssl) {
  return static_cast<const TlsContext*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)))->key();
}

// What both sides know beforehand, in OpenSSL's form. The hash that belongs to the key is SHA-256.
SSL_SESSION* make_session(SSL* ssl) {
  const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kAes128);
  SSL_SESSION* session = SSL_SESSION_new();
  const auto& key = key_of(ssl).bytes;
  if (cipher != nullptr && session != nullptr &&
      SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(key.data()), key.size()) ==
          1 &&
      SSL_SESSION_set1_id_context(session, kContext, sizeof kContext) == 1 &&
      SSL_SESSION_set_cipher(session, cipher) == 1 &&
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
    return session;
  SSL_SESSION_free(session);
  return nullptr;
}

int use_session(SSL* ssl, const EVP_MD* hash, const unsigned char** id, size_t* id_bytes,
                SSL_SESSION** session) {
  *session = nullptr;
  if (hash != nullptr && EVP_MD_get_type(hash) != NID_sha256) return 1;
  *session = make_session(ssl);
  *id = reinterpret_cast<const unsigned char*>(kIdentity.data());
  *id_bytes = kIdentity.size();
  return *session != nullptr;
}

int find_session(SSL* ssl, const unsigned char* id, size_t id_bytes, SSL_SESSION** session) {
  *session = nullptr;
  if (std::string_view(reinterpret_cast<const char*>(id), id_bytes) != kIdentity) return 1;
  *session = make_session(ssl);
  return *session != nullptr;
}

// Whoever shows a certificate does not know the key.
int refuse_certificate(int /*ok*/, X509_STORE_CTX* /*chain*/) { return 0; }

}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::make(const TlsKey& key, uint64_t records_a_key) {
  std::unique_ptr<TlsContext> context(new TlsContext(key, records_a_key));
  PLAIT_TRY(context->set_up());
  return context;
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

Status TlsContext::set_up() {
  ERR_clear_error();
  SSL_CTX* c = context_ = SSL_CTX_new(TLS_method());
  if (c == nullptr) return refused("a TLS context");
  if (SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(c, TLS1_3_VERSION) != 1)
    return refused("TLS 1.3");
  // Connections keep less of X25519, 3 KiB each; a machine that is bound to FIPS may have P-256 alone.
  if (SSL_CTX_set_ciphersuites(c, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256") != 1 ||
      (SSL_CTX_set1_groups_list(c, "X25519:P-256") != 1 && SSL_CTX_set1_groups_list(c, "P-256") != 1))
    return refused("the ciphers");
  SSL_CTX_set_session_id_context(c, kContext, sizeof kContext);
  SSL_CTX_set_app_data(c, this);
  SSL_CTX_set_psk_use_session_callback(c, use_session);
  SSL_CTX_set_psk_find_session_callback(c, find_session);
  SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, refuse_certificate);
  // Nothing is said after the handshake but what connections carry: no tickets, and no words of farewell,
  // which frames have.
  SSL_CTX_set_num_tickets(c, 0);
  SSL_CTX_set_quiet_shutdown(c, 1);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  SSL_CTX_clear_options(c, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
  SSL_CTX_set_options(
      c, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  // Hundreds of connections are idle most of the time.
  SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(c, 1);
  SSL_CTX_set_default_read_buffer_len(c, kReadAhead);
  return {};
}

}  // namespace plait::transport::tcp
