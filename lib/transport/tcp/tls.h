// TLS 1.3 on the connections of a domain: proved with a key that all ranks of a job share (an external PSK,
// with an ephemeral Diffie-Hellman exchange, so that who learns the key later reads nothing that was recorded
// before), and without certificates. The dialed side is the server. It is done in this process, not in the
// kernel: docs/transport.md says why.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/slab.h"
#include "base/status.h"
#include "transport/tcp/tcp.h"

struct ssl_st;
struct ssl_ctx_st;

namespace plait::transport::tcp {

// What leaves with one call: a packet (queue.h) and what TLS adds to it.
constexpr size_t kSealedBytes = size_t{68} << 10;
constexpr size_t kRecord = size_t{16} << 10;  // plain bytes of a record, at most

// Sealed bytes that the kernel had no room for.
struct Sealed {
  Sealed* next = nullptr;
  size_t from = 0, end = 0;
  std::array<std::byte, kSealedBytes> bytes;
};

class TlsContext;

// One connection's.
class Tls {
 public:
  enum class Step : uint8_t { done, more, ended, failed };

  // Null: no memory. The socket is the caller's.
  static std::unique_ptr<Tls> make(TlsContext& context, int socket, bool dials) noexcept;
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;
  ~Tls();

  // The handshake, as far as it goes now. ended: as errno says, 0: the other side hung up. failed: reason()
  // says why.
  Step shake() noexcept;
  // As send_some() and receive_some() (socket.h). What send() took is sealed: it is read no more, though the
  // kernel may have no room for it yet. EBADMSG: what came, or cannot be sent, breaks TLS, and reason() says
  // how.
  ssize_t send(std::span<const iovec> parts) noexcept;
  ssize_t receive(std::span<const iovec> parts) noexcept;
  // There are sealed bytes which the kernel did not take.
  bool owes() const noexcept { return left_ != nullptr; }
  // Gives it these. False: it did not take all of them, or there is an error, as errno says.
  bool push() noexcept;
  // receive() may have more, of which the kernel does not know.
  bool holds() const noexcept { return holds_; }
  // OpenSSL's words.
  const char* reason() const noexcept { return reason_; }
  // "TLSv1.3, TLS_AES_128_GCM_SHA256"
  std::string name() const;

  // What OpenSSL calls.
  int take_sealed(const void* bytes, int count) noexcept;
  int give_sealed(void* to, int most) noexcept;
  bool would_block() const noexcept { return blocked_; }
  bool at_end() const noexcept { return ended_ && error_ == 0; }

 private:
  Tls(TlsContext& context, int socket) noexcept : context_(context), socket_(socket) {}
  bool deliver() noexcept;
  bool keep(std::span<const std::byte> bytes) noexcept;
  bool seal(const void* bytes, size_t count) noexcept;
  void new_key_if_due() noexcept;
  void note_reason() noexcept;

  TlsContext& context_;
  const int socket_;
  ssl_st* ssl_ = nullptr;
  Sealed* left_ = nullptr;
  uint64_t records_ = 0;  // sealed with the current key
  int error_ = 0;
  bool ended_ = false, blocked_ = false, holds_ = false, up_ = false;
  const char* reason_ = "";
};

// Of a domain: its connections use it, one at a time.
class TlsContext {
 public:
  // AES-GCM may seal 2^24.5 records of this size with one key (RFC 8446, 5.5).
  static constexpr uint64_t kRecordsAKey = uint64_t{1} << 23;

  // Code::unsupported, and why, where this build has no TLS, or OpenSSL refuses.
  static Result<std::unique_ptr<TlsContext>> make(const TlsKey& key, uint64_t records_a_key = kRecordsAKey);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  ssl_ctx_st* get() noexcept { return context_; }
  const TlsKey& key() const noexcept { return key_; }
  Slab<Sealed>& left() noexcept { return left_; }

 private:
  friend class Tls;
  explicit TlsContext(const TlsKey& key, uint64_t records_a_key)
      : key_(key),
        records_a_key_(records_a_key),
        out_(std::make_unique_for_overwrite<std::byte[]>(kSealedBytes)),
        plain_(std::make_unique_for_overwrite<std::byte[]>(kRecord)) {}
  Status set_up();

  const TlsKey key_;
  const uint64_t records_a_key_;
  ssl_ctx_st* context_ = nullptr;
  std::unique_ptr<std::byte[]> out_, plain_;  // nothing stays in them
  size_t out_bytes_ = 0;
  Slab<Sealed> left_;
};

}  // namespace plait::transport::tcp
