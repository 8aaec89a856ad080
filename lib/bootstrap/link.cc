#include "bootstrap/link.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/clock.h"

namespace plait::bootstrap {
namespace {

constexpr size_t kReadAtOnce = 64u << 10;
constexpr size_t kKeptOutput = 4096;  // of the memory of what was sent
constexpr int kReadsAtOnce = 8;       // so that no link keeps the others waiting

Status closed_by_peer(int error) {
  if (error == 0) return {Code::peer, "the other side closed the connection"};
  if (error == ECONNRESET || error == EPIPE) return {Code::peer, "the other side broke the connection off"};
  return {Code::peer, std::string(Status::system(error, "the connection broke").text())};
}

}  // namespace

Link::Link(Poller& poller, Fd fd, std::string who, Handshake handshake, State state)
    : poller_(poller),
      fd_(std::move(fd)),
      who_(std::move(who)),
      state_(state),
      handshake_(std::move(handshake)),
      since_ns_(now_ns()) {
  writes_ = state == State::connecting;
  id_ = poller_.add(fd_.get(), true, writes_, this);
  if (id_ == 0) {
    close(Status::system(errno, "epoll_ctl"));
    return;
  }
  if (handshake_.state() == Handshake::State::failed) close(handshake_.status());
  if (state_ == State::greeting) greet();
}

Link::~Link() { close({}); }

void Link::close(Status status) {
  if (state_ == State::closed) return;
  state_ = State::closed;
  status_ = std::move(status);
  poller_.remove(id_);
  fd_.reset();
}

void Link::ready() {
  if (state_ == State::connecting) {
    const int error = connect_result(fd_.get());
    if (error == EINPROGRESS) return;
    if (error != 0) return close(Status::system(error, "connecting"));
    state_ = State::greeting;
  }
  if (state_ != State::closed && !flushed()) write();
  if (state_ == State::greeting) read_greeting();
  if (state_ == State::open) read();
  if (state_ != State::closed) watch();
}

// Sends what the handshake has to say, and looks how it stands.
void Link::greet() {
  const Bytes out = handshake_.output();
  output_.insert(output_.end(), out.begin(), out.end());
  if (!flushed()) write();
  if (state_ == State::closed) return;
  if (handshake_.state() == Handshake::State::failed) return close(handshake_.status());
  if (handshake_.state() == Handshake::State::done) {
    const SessionKeys keys = handshake_.keys();
    sealer_ = Sealer(keys.send);
    opener_ = Opener(keys.receive);
    opener_.limit(kHelloFrame);
    state_ = State::open;
  }
  watch();
}

void Link::read_greeting() {
  std::array<std::byte, Handshake::kProposal> bytes;
  while (state_ == State::greeting && handshake_.wanted() > 0) {
    const size_t most = std::min(bytes.size(), handshake_.wanted());
    const ssize_t n = ::recv(fd_.get(), bytes.data(), most, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return close(closed_by_peer(n == 0 ? 0 : errno));
    handshake_.feed(ByteView(bytes).first(size_t(n)));
    greet();
  }
}

void Link::read() {
  static thread_local std::array<std::byte, kReadAtOnce> bytes;
  for (int i = 0; i < kReadsAtOnce && !full(); i++) {
    const ssize_t n = ::recv(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return close(closed_by_peer(n == 0 ? 0 : errno));
    opener_.feed(ByteView(bytes).first(size_t(n)));
    if (size_t(n) < bytes.size()) return;
  }
}

bool Link::send(ByteView message) {
  if (state_ != State::open || finishing_) return false;
  if (output_.size() - sent_ + message.size() > kMostUnsent) {
    close({Code::peer,
           "the other side does not read: " + std::to_string(output_.size() - sent_) + " bytes wait for it"});
    return false;
  }
  sealer_.seal(message, output_);
  write();
  if (state_ != State::closed) watch();
  return state_ == State::open;
}

std::optional<Bytes> Link::receive() {
  auto message = opener_.next();
  if (!message && !opener_.ok() && state_ != State::closed) {
    close({Code::auth, "what came was changed on its way, or is longer than it may be"});
  }
  if (state_ == State::open) watch();
  return message;
}

void Link::finish() {
  if (finishing_) return;
  finishing_ = true;
  if (state_ == State::open && flushed()) ::shutdown(fd_.get(), SHUT_WR);
}

void Link::write() {
  while (!flushed()) {
    const ssize_t n =
        ::send(fd_.get(), output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent_ += size_t(n);
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      // What the other side said before it closed may still be here.
      const int error = errno;
      if (state_ == State::open) read();
      return close(closed_by_peer(error));
    }
  }
  output_.clear();
  if (output_.capacity() > kKeptOutput) output_.shrink_to_fit();
  sent_ = 0;
  if (finishing_ && state_ == State::open) ::shutdown(fd_.get(), SHUT_WR);
}

// Reading stops while the owner does not take what came: the other side then has to wait.
void Link::watch() {
  if (reads_ == !full() && writes_ == !flushed()) return;
  reads_ = !full();
  writes_ = !flushed();
  poller_.change(id_, reads_, writes_);
}

}  // namespace plait::bootstrap
