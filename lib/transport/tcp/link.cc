#include "transport/tcp/link.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/log.h"
#include "transport/tcp/socket.h"

namespace plait::transport::tcp {

namespace {

constexpr int64_t kDialNs = 3'000'000'000;     // then the next address is tried
constexpr int64_t kFirstPauseNs = 10'000'000;  // after all were tried, doubled
constexpr int64_t kPauseMostNs = 1'000'000'000;

bool no_descriptors(int error) noexcept { return error == EMFILE || error == ENFILE; }

}  // namespace

std::string host_name() {
  std::array<char, 64> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  std::string text(name.data());
  std::erase_if(text, [](char c) { return c <= ' ' || c >= 127; });
  return text.empty() ? "unknown" : text;
}

bool say_hello(int socket, HelloKind kind, Lane lane, uint64_t from, uint64_t to, const Token& token,
               const std::string& host, Tls* tls) noexcept {
  Hello hello;
  hello.kind = uint8_t(kind);
  hello.lane = uint8_t(lane);
  hello.from = from;
  hello.to = to;
  hello.token = token;
  hello.pid = uint32_t(getpid());
  host.copy(hello.host.data(), hello.host.size() - 1);
  iovec part{&hello, sizeof hello};
  const auto parts = std::span(&part, 1);
  return (tls != nullptr ? tls->send(parts) : send_some(socket, parts)) == ssize_t(sizeof hello);
}

bool Link::say(const Parties& parties, HelloKind kind) const noexcept {
  return say_hello(socket_.get(), kind, lane_, parties.mine.endpoint, parties.theirs.endpoint,
                   parties.theirs.tokens[size_t(lane_)], parties.host, tls_.get());
}

void Link::drop(const Parties& parties) noexcept {
  if (socket_) parties.poller->remove(socket_.get());
  tls_.reset();
  socket_.reset();
  phase_ = Phase::none;
  heard_bytes_ = 0;
}

int64_t Link::due_ns() const noexcept {
  return phase_ == Phase::waiting || phase_ == Phase::dialing ? due_ns_ : INT64_MAX;
}

Status Link::tick(const Parties& parties, int64_t now) {
  if (now < due_ns()) return {};
  return phase_ == Phase::waiting ? dial(parties) : missed(parties, ETIMEDOUT);
}

Status Link::dial(const Parties& parties) {
  const Route& route = parties.routes[route_ % parties.routes.size()];
  socket_ = tcp::dial(route.local, route.remote, parties.buffers);
  if (!socket_) return missed(parties, errno);
  if (!parties.poller->add(socket_.get(), Watch::lane, parties.watch_id + uint64_t(lane_), EPOLLOUT))
    return Status::system(errno, "tcp: watching a connection");
  phase_ = Phase::dialing;
  due_ns_ = now_ns() + kDialNs;
  return {};
}

// Its domain listens before there is a ticket: so where all addresses refuse, nobody is left.
Status Link::missed(const Parties& parties, int error) {
  drop(parties);
  const std::string where = to_string(parties.routes[route_ % parties.routes.size()].remote);
  if (no_descriptors(error))
    return Status::system(error, "tcp: a socket to connect to " + where + " (look at ulimit -n)");
  refused_ = error == ECONNREFUSED ? refused_ + 1 : 0;
  if (refused_ >= parties.routes.size()) {
    return Status(Code::peer, "the peer at " + where + " refused the connection (" + std::strerror(error) +
                                  "): its process exited, or a firewall is in between");
  }
  log::info("tcp: connecting to {}: {}", where, error == 0 ? "the peer hung up" : std::strerror(error));
  phase_ = Phase::waiting;
  due_ns_ = now_ns();
  if (++route_ % parties.routes.size() != 0) return {};
  pause_ns_ = std::clamp(pause_ns_ * 2, kFirstPauseNs, kPauseMostNs);
  due_ns_ += pause_ns_;
  return {};
}

Status Link::ready(const Parties& parties, uint32_t events) {
  if (phase_ == Phase::dialing) return dialed(parties, events);
  if (phase_ == Phase::sealing) return seal(parties);
  if (phase_ == Phase::greeting) return hear(parties);
  // Held: a dialer that waits for its answer says nothing, so it has gone, or is none.
  if (phase_ == Phase::held) drop(parties);
  // Nobody sends before all have connected.
  if (phase_ == Phase::up)
    return Status(Code::peer,
                  sender_of(theirs_) + " hung up while connecting: its endpoint was closed, or it died");
  return {};
}

Status Link::dialed(const Parties& parties, uint32_t events) {
  if (const int error = error_of(socket_.get()); error != 0) return missed(parties, error);
  if ((events & EPOLLOUT) == 0) return {};
  if (!parties.poller->change(socket_.get(), Watch::lane, parties.watch_id + uint64_t(lane_),
                              EPOLLIN | EPOLLRDHUP))
    return Status::system(errno, "tcp: watching a connection");
  if (parties.tls == nullptr) return greet(parties);
  tls_ = Tls::make(*parties.tls, socket_.get(), true);
  if (!tls_) return Status(Code::memory, "tcp: no memory for a connection's TLS");
  phase_ = Phase::sealing;
  return seal(parties);
}

Status Link::seal(const Parties& parties) {
  switch (tls_->shake()) {
    case Tls::Step::more:
      return {};
    case Tls::Step::done:
      return greet(parties);
    case Tls::Step::ended:
      return missed(parties, errno);
    case Tls::Step::failed:
      break;
  }
  return Status(Code::auth,
                "the TLS handshake with the peer at " +
                    to_string(parties.routes[route_ % parties.routes.size()].remote) +
                    " failed (OpenSSL: " + tls_->reason() +
                    "): who answers there does not know the job's secret, or somebody is in between");
}

Status Link::greet(const Parties& parties) {
  if (!say(parties, HelloKind::hello)) return missed(parties, errno);
  phase_ = Phase::greeting;
  return {};
}

// No byte beyond the answer is taken: what follows is frames.
Status Link::hear(const Parties& parties) {
  iovec part{heard_.data() + heard_bytes_, heard_.size() - heard_bytes_};
  const auto parts = std::span(&part, 1);
  const ssize_t got = tls_ ? tls_->receive(parts) : receive_some(socket_.get(), parts);
  if (got < 0 && would_block(errno)) return {};
  if (got <= 0) return missed(parties, got == 0 ? 0 : errno);
  heard_bytes_ += size_t(got);
  if (heard_bytes_ < heard_.size()) return {};
  const auto hello = parse_hello(heard_);
  if (!hello)
    return Status(Code::auth, "who answers at the peer's address does not speak plait's TCP protocol");
  PLAIT_TRY(check(parties, *hello));
  theirs_ = *hello;
  phase_ = Phase::up;
  return {};
}

Status Link::check(const Parties& parties, const Hello& hello) const {
  if (hello.kind == uint8_t(HelloKind::refusal) && hello.to == parties.mine.endpoint)
    return Status(Code::peer,
                  sender_of(hello) + " refused the connection: its endpoint was closed, or is another's");
  if (hello.kind == uint8_t(HelloKind::answer) && hello.lane == uint8_t(lane_) &&
      hello.to == parties.mine.endpoint && hello.from == parties.theirs.endpoint &&
      same_token(hello.token, parties.mine.tokens[size_t(lane_)]))
    return {};
  return Status(Code::auth,
                sender_of(hello) + " answers at the peer's address, but is not the peer of the ticket");
}

bool Link::hold(Fd& socket, std::unique_ptr<Tls>& tls, const Hello& hello, const Parties& parties) noexcept {
  if (phase_ != Phase::none) return false;
  if (!parties.poller->add(socket.get(), Watch::lane, parties.watch_id + uint64_t(lane_),
                           EPOLLIN | EPOLLRDHUP))
    return false;
  socket_ = std::move(socket);
  tls_ = std::move(tls);
  theirs_ = hello;
  phase_ = Phase::held;
  return true;
}

bool Link::answer(const Parties& parties) noexcept {
  if (!say(parties, HelloKind::answer)) {
    drop(parties);
    return false;
  }
  phase_ = Phase::up;
  return true;
}

}  // namespace plait::transport::tcp
