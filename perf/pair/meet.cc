#include "perf/pair/meet.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/log.h"
#include "bootstrap/resolve.h"
#include "perf/pair/words.h"

namespace plait::perf::pair {
namespace {

using bootstrap::Handshake;
using bootstrap::Link;
using bootstrap::Trust;
using bootstrap::Trusted;

constexpr int64_t kPatienceNs = 5'000'000'000, kConnectNs = 3'000'000'000;
constexpr size_t kMostGuests = 16;
constexpr int kAgainMs = 50;

Trusted trusted_by(const bootstrap::SecretPtr& secret) {
  return {secret ? Trust::secret : Trust::insecure, secret};
}

// Tells which protocol the link is for, so that no rank of a job is taken for a client.
bootstrap::Claim claim() {
  bootstrap::Claim c;
  c.job = bootstrap::sha256(std::as_bytes(std::span(std::string_view("plait pair of processes 1"))));
  c.dialer = 1;
  c.listener = 0;
  return c;
}

bool is_claim(const bootstrap::Claim& c) { return c.job == claim().job && c.dialer == 1 && c.listener == 0; }

Result<Fd> listen(uint16_t port) {
  Result<Fd> fd = Status(Code::internal, "");
  for (const uint8_t family : {uint8_t{6}, uint8_t{4}}) {  // 4: a kernel without IPv6
    Address any;
    any.family = family;
    fd = bootstrap::listen_at({any.with_port(port), {}});
    if (fd.ok() || fd.status().code() == Code::state) break;
  }
  if (fd.ok()) return fd;
  return Status(fd.status().code(),
                std::string(fd.status().text()) + ": another server? Give both sides another port (-p)");
}

// Those who came to the port and have not said a hello yet.
class Door final : public bootstrap::Polled {
 public:
  Door(bootstrap::Poller& poller, const bootstrap::SecretPtr& secret)
      : poller_(poller), trusted_(trusted_by(secret)) {}
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  ~Door() override { poller_.remove(id_); }

  Status open(uint16_t port) {
    auto fd = listen(port);
    if (!fd.ok()) return fd.status();
    fd_ = std::move(*fd);
    id_ = poller_.add(fd_.get(), true, false, this);
    return id_ != 0 ? Status() : Status::system(errno, "epoll_ctl");
  }
  uint16_t port() const noexcept { return bootstrap::local_address(fd_.get()).port; }
  void ready() override {
    Address from;
    while (Fd fd = bootstrap::accept_from(fd_.get(), &from)) {
      if (guests_.size() == kMostGuests) guests_.erase(guests_.begin());
      guests_.push_back(std::make_unique<Link>(poller_, std::move(fd), to_string(from),
                                               Handshake::listener(trusted_), Link::State::greeting));
    }
  }
  // Who has said a hello, if anybody has.
  Met look() {
    for (auto& guest : guests_) {
      Met met;
      if (!listen_to(*guest, met.hello)) continue;
      met.link = std::move(guest);
      std::erase(guests_, nullptr);
      return met;
    }
    std::erase_if(guests_, [](const auto& guest) { return guest->state() == Link::State::closed; });
    return {};
  }

 private:
  bool listen_to(Link& guest, Bytes& hello) {
    auto message = guest.receive();
    if (message && is_claim(guest.claim())) {
      ByteView about = *message;
      Hello read;
      const auto kind = take_kind(about);
      if (kind == Kind::hello && decode(about, read)) {
        hello.assign(about.begin(), about.end());
        return true;
      }
    }
    if (message) guest.close({Code::auth, "what it said makes no sense"});
    if (now_ns() - guest.since_ns() > kPatienceNs) guest.close({Code::timeout, "it said nothing for 5 s"});
    if (guest.state() == Link::State::closed) stranger(guest);
    return false;
  }
  void stranger(const Link& guest) {
    if (guest.status().code() == Code::peer && warned_) return;
    log::line(warned_ ? log::Level::info : log::Level::warn, "{} is no client: {}", guest.who(),
              guest.status().text());
    warned_ = true;
  }

  bootstrap::Poller& poller_;
  const Trusted trusted_;
  Fd fd_;
  uint64_t id_ = 0;
  std::vector<std::unique_ptr<Link>> guests_;
  bool warned_ = false;
};

// One address, to the end of the handshake.
Result<std::unique_ptr<Link>> dial(bootstrap::Poller& poller, const Address& address,
                                   const bootstrap::SecretPtr& secret) {
  Fd fd = bootstrap::start_connect({address, {}}, {});
  if (!fd) return Status::system(errno, "connecting");
  if (bootstrap::local_address(fd.get()) == address)  // the kernel chose just that port for our end
    return Status(Code::system, "nobody listens there");
  auto link = std::make_unique<Link>(poller, std::move(fd), to_string(address),
                                     Handshake::dialer(trusted_by(secret), claim()), Link::State::connecting);
  while (link->state() != Link::State::open) {
    if (link->state() == Link::State::closed) return link->status();
    const int64_t waited = now_ns() - link->since_ns();
    if (link->state() == Link::State::connecting && waited > kConnectNs)
      return Status(Code::timeout, "no answer from that address: is a firewall between?");
    if (waited > kPatienceNs)
      return Status(Code::timeout, "connected, but no handshake came: is it the server that listens there?");
    poller.wait(kAgainMs);
  }
  return link;
}

bool hopeless(const Status& why) {
  return why.code() == Code::auth || why.code() == Code::version || why.code() == Code::timeout;
}

}  // namespace

Result<Met> await_client(bootstrap::Poller& poller, uint16_t port, const bootstrap::SecretPtr& secret,
                         const Deadline& deadline, const std::function<void(uint16_t)>& listening) {
  Door door(poller, secret);
  PLAIT_TRY(door.open(port));
  if (listening) listening(door.port());
  while (!deadline.passed()) {
    if (Met met = door.look(); met.link) return met;
    poller.wait(deadline.left_ms(200));
  }
  return Status(Code::timeout, "no client came to port " + std::to_string(port) + " in time (--wait)");
}

Result<Met> dial_server(bootstrap::Poller& poller, const std::string& host, uint16_t port,
                        const bootstrap::SecretPtr& secret, const Deadline& deadline) {
  auto addresses = bootstrap::resolve(host, port, {deadline, nullptr});
  if (!addresses.ok() && addresses.status().code() == Code::invalid)
    return Status(Code::invalid, "the host " + host + " is not known here: give its name or address");
  if (!addresses.ok()) return addresses.status();
  Status last;
  do {
    for (const Address& address : *addresses) {
      auto link = dial(poller, address, secret);
      if (link.ok()) return Met{std::move(*link), {}};
      last = Status(link.status().code(), to_string(address) + ": " + std::string(link.status().text()));
      if (hopeless(last)) break;
    }
    if (hopeless(last)) break;
    poller.wait(kAgainMs);
  } while (!deadline.passed());
  return Status(last.code() == Code::system ? Code::peer : last.code(),
                "no server at " + std::string(last.text()) +
                    "; start it first, on that host, with the same options and no HOST");
}

}  // namespace plait::perf::pair
