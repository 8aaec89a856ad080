// OpenSSL between a connection and its socket. It writes to a buffer of the domain, which leaves with one
// call to the kernel; what the kernel has no room for is kept until it has. So OpenSSL never has to wait to
// write.
#include "transport/tcp/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/copy.h"
#include "transport/tcp/socket.h"

namespace plait::transport::tcp {

namespace {

constexpr size_t kBesides = 512;  // that a record may bring along: its frame, a change of keys

Tls& tls_of(BIO* bio) { return *static_cast<Tls*>(BIO_get_data(bio)); }

int write_sealed(BIO* bio, const char* bytes, int count) { return tls_of(bio).take_sealed(bytes, count); }

int read_sealed(BIO* bio, char* to, int most) {
  BIO_clear_retry_flags(bio);
  const int got = tls_of(bio).give_sealed(to, most);
  if (got < 0 && tls_of(bio).would_block()) BIO_set_retry_read(bio);
  return got;
}

long control(BIO* bio, int what, long /*number*/, void* /*argument*/) {
  if (what == BIO_CTRL_EOF) return tls_of(bio).at_end();
  return what == BIO_CTRL_FLUSH;
}

int begin(BIO* bio) {
  BIO_set_init(bio, 1);
  return 1;
}

// Once, for as long as the process lives.
BIO_METHOD* method() {
  static BIO_METHOD* const made = [] {
    BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "plait");
    if (m == nullptr) return m;
    BIO_meth_set_create(m, begin);
    BIO_meth_set_write(m, write_sealed);
    BIO_meth_set_read(m, read_sealed);
    BIO_meth_set_ctrl(m, control);
    return m;
  }();
  return made;
}

}  // namespace

std::unique_ptr<Tls> Tls::make(TlsContext& context, int socket, bool dials) noexcept {
  std::unique_ptr<Tls> tls(new Tls(context, socket));
  tls->ssl_ = SSL_new(context.get());
  BIO* bio = method() == nullptr ? nullptr : BIO_new(method());
  if (tls->ssl_ == nullptr || bio == nullptr) {
    BIO_free(bio);
    return nullptr;
  }
  BIO_set_data(bio, tls.get());
  SSL_set_bio(tls->ssl_, bio, bio);
  dials ? SSL_set_connect_state(tls->ssl_) : SSL_set_accept_state(tls->ssl_);
  return tls;
}

Tls::~Tls() {
  SSL_free(ssl_);
  if (left_ != nullptr) context_.left().give(*left_);
}

std::string Tls::name() const {
  return std::string(SSL_get_version(ssl_)) + ", " + SSL_CIPHER_get_name(SSL_get_current_cipher(ssl_));
}

int Tls::take_sealed(const void* bytes, int count) noexcept {
  const auto n = size_t(std::max(count, 0));
  if (n > kSealedBytes - context_.out_bytes_) return -1;
  copy_bytes(context_.out_.get() + context_.out_bytes_, bytes, n);
  context_.out_bytes_ += n;
  return count;
}

int Tls::give_sealed(void* to, int most) noexcept {
  iovec part{to, size_t(std::max(most, 0))};
  const ssize_t got = receive_some(socket_, std::span(&part, 1));
  blocked_ = got < 0 && tcp::would_block(errno);
  if (got > 0 || blocked_) return int(got);
  ended_ = true;
  error_ = got == 0 ? 0 : errno;
  return got == 0 ? 0 : -1;
}

void Tls::note_reason() noexcept {
  const char* why = ERR_reason_error_string(ERR_peek_last_error());
  reason_ = why != nullptr ? why : "no reason given";
  ERR_clear_error();
}

// There is room for a handshake in a new connection.
Tls::Step Tls::shake() noexcept {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  const int why = SSL_get_error(ssl_, result);
  if (result != 1 && why != SSL_ERROR_WANT_READ) note_reason();
  const bool sent = deliver();
  if (result == 1) {
    // Only who knows the key comes so far: there is nothing else that a peer could prove itself by.
    if (SSL_session_reused(ssl_) != 1) {
      reason_ = "the key was not used";
      return Step::failed;
    }
    up_ = sent;
    holds_ = SSL_has_pending(ssl_) == 1;
    if (sent) return Step::done;
  }
  if (result == 1 || why == SSL_ERROR_WANT_READ) {
    if (sent) return Step::more;
    reason_ = "";
    return Step::ended;
  }
  if (!ended_) return Step::failed;
  errno = error_;
  return Step::ended;
}

// What OpenSSL wrote goes to the kernel; behind what waits already, if something does.
bool Tls::deliver() noexcept {
  std::span<const std::byte> bytes(context_.out_.get(), std::exchange(context_.out_bytes_, 0));
  if (bytes.empty()) return true;
  if (left_ != nullptr) return keep(bytes);
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  ssize_t took = send_some(socket_, std::span(&part, 1));
  if (took < 0 && !tcp::would_block(errno)) return false;
  took = std::max<ssize_t>(took, 0);
  return size_t(took) == bytes.size() || keep(bytes.subspan(size_t(took)));
}

bool Tls::keep(std::span<const std::byte> bytes) noexcept {
  errno = ENOBUFS;
  if (!up_) return false;  // strangers get no memory
  if (left_ == nullptr) left_ = &context_.left().take();
  if (bytes.size() > left_->bytes.size() - left_->end) return false;
  copy_bytes(left_->bytes.data() + left_->end, bytes.data(), bytes.size());
  left_->end += bytes.size();
  return true;
}

bool Tls::push() noexcept {
  while (left_ != nullptr) {
    iovec part{left_->bytes.data() + left_->from, left_->end - left_->from};
    const ssize_t took = send_some(socket_, std::span(&part, 1));
    if (took < 0) return false;
    left_->from += size_t(took);
    if (left_->from != left_->end) continue;
    context_.left().give(*left_);
    left_ = nullptr;
  }
  return true;
}

void Tls::new_key_if_due() noexcept {
  if (records_ < context_.records_a_key_) return;
  records_ = 0;
  SSL_key_update(ssl_, SSL_KEY_UPDATE_NOT_REQUESTED);  // leaves before the next record
}

bool Tls::seal(const void* bytes, size_t count) noexcept {
  new_key_if_due();
  ++records_;
  size_t written = 0;
  if (SSL_write_ex(ssl_, bytes, count, &written) == 1 && written == count) return true;
  note_reason();
  return false;
}

// Records are full, but for the last: short pieces are put together.
ssize_t Tls::send(std::span<const iovec> parts) noexcept {
  if (!push()) return -1;
  size_t taken = 0, at = 0, from = 0;
  bool sealed = true;
  while (sealed && at < parts.size() && kSealedBytes - context_.out_bytes_ >= kRecord + kBesides) {
    const auto* data = static_cast<const std::byte*>(parts[at].iov_base) + from;
    size_t count = std::min(parts[at].iov_len - from, kRecord);
    if (count == kRecord || (at + 1 == parts.size())) {
      from += count;
    } else {
      for (count = 0; at < parts.size() && count < kRecord;) {
        const size_t n = std::min(parts[at].iov_len - from, kRecord - count);
        copy_bytes(context_.plain_.get() + count, static_cast<const std::byte*>(parts[at].iov_base) + from,
                   n);
        count += n;
        from += n;
        if (from == parts[at].iov_len) ++at, from = 0;
      }
      data = context_.plain_.get();
    }
    if (at < parts.size() && from == parts[at].iov_len) ++at, from = 0;
    sealed = count == 0 || seal(data, count);
    taken += count;
  }
  if (!deliver()) return -1;
  if (sealed) return ssize_t(taken);
  errno = EBADMSG;
  return -1;
}

// After the first record only what OpenSSL has already is taken: the kernel is not asked in vain. Whether
// OpenSSL waits is seen without its queue of errors, which takes longer to clear than a small record to open.
ssize_t Tls::receive(std::span<const iovec> parts) noexcept {
  size_t got = 0;
  bool fine = true, more = true;
  for (const iovec& part : parts) {
    for (size_t here = 0; more && here < part.iov_len;) {
      size_t n = 0;
      fine = SSL_read_ex(ssl_, static_cast<std::byte*>(part.iov_base) + here, part.iov_len - here, &n) == 1;
      here += n;
      got += n;
      more = fine && SSL_has_pending(ssl_) == 1;
    }
  }
  const bool waits = !fine && !ended_ && blocked_ && SSL_want_read(ssl_);
  holds_ = fine ? more : got != 0 && !waits;  // an end will be seen the next time
  if (!fine && !waits) note_reason();
  if (context_.out_bytes_ != 0) (void)deliver();  // why OpenSSL ends it, for the peer
  if (got != 0) return ssize_t(got);
  if (ended_ && error_ == 0) return 0;
  errno = waits ? EAGAIN : ended_ ? error_ : EBADMSG;
  return -1;
}

}  // namespace plait::transport::tcp
