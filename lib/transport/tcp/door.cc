#include "transport/tcp/door.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/log.h"

namespace plait::transport::tcp {

namespace {

constexpr int64_t kHelloNs = 5'000'000'000;        // for a guest to say who it is
constexpr int64_t kNoDescriptorsNs = 100'000'000;  // without descriptors
constexpr size_t kMostStrangersTold = 64;

bool runs_out(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// So that who speaks another protocol is not listened to until its time is up.
bool may_become_hello(const Guest& guest) noexcept {
  const size_t bytes = std::min(guest.bytes, sizeof kMagic);
  return std::memcmp(guest.heard.data(), &kMagic, bytes) == 0;
}

// The first byte of a TLS handshake.
bool begins_tls(const Guest& guest) noexcept { return guest.bytes != 0 && guest.heard[0] == std::byte{0x16}; }

constexpr const char* kWantsTls = "it wants TLS and this rank does not: set PLAIT_NETWORK alike on all ranks";

}  // namespace

Status Door::open(const std::vector<Address>& addresses, const PortRange& range, const Buffers& buffers) {
  for (const Address& wanted : addresses) {
    Address address = wanted;
    auto listener = listen_on(address, range, buffers);
    if (!listener.ok()) return listener.status();
    if (!poller_.add(listener->get(), Watch::listener, listeners_.size(), EPOLLIN))
      return Status::system(errno, "tcp: watching a listener");
    addresses_.push_back(address);
    listeners_.push_back(std::move(*listener));
  }
  told_.reserve(kMostStrangersTold);
  return {};
}

// The number of a new guest; 0: nobody waits.
uint64_t Door::let_in(size_t listener) noexcept {
  Guest guest;
  guest.socket = accept_from(listeners_[listener].get(), guest.from);
  if (!guest.socket) {
    if (runs_out(errno)) pause(errno);
    return 0;
  }
  if (guests_.size() >= room_) send_away(guests_.begin(), "too many connections at once that say nothing");
  guest.until_ns = now_ns() + kHelloNs;
  if (!poller_.add(guest.socket.get(), Watch::guest, ++last_guest_, EPOLLIN | EPOLLRDHUP)) return 0;
  guests_.emplace(last_guest_, std::move(guest));
  return last_guest_;
}

// Whoever wants to connect waits in the listener's queue. Without this wait_fd() would be readable all the
// time.
void Door::pause(int error) noexcept {
  if (!told_pause_)
    log::warn("{}: no descriptor for a connection that came in: {}", name_, std::strerror(error));
  told_pause_ = true;
  paused_until_ns_ = now_ns() + kNoDescriptorsNs;
  watch_listeners(false);
}

void Door::watch_listeners(bool on) noexcept {
  for (size_t i = 0; i < listeners_.size(); ++i)
    poller_.change(listeners_[i].get(), Watch::listener, i, on ? uint32_t(EPOLLIN) : 0U);
}

std::unique_ptr<Guest> Door::hear(uint64_t number, Hello& hello) noexcept {
  auto found = guests_.find(number);
  if (found == guests_.end()) return nullptr;
  Guest& guest = found->second;
  if (tls_ != nullptr && !guest.tls) {
    std::byte first{};
    const ssize_t got = recv(guest.socket.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && would_block(errno)) return nullptr;
    if (got <= 0) {
      hung_up(found);
      return nullptr;
    }
    guest.begins_tls = first == std::byte{0x16};
  }
  if (tls_ != nullptr && !guest.sealed) {
    if (const std::string why = seal(guest); !why.empty()) {
      send_away(found, why.c_str());
      return nullptr;
    }
  }
  iovec part{guest.heard.data() + guest.bytes, guest.heard.size() - guest.bytes};
  const auto parts = std::span(&part, 1);
  ssize_t got = -1;
  errno = EAGAIN;
  if (tls_ == nullptr) got = receive_some(guest.socket.get(), parts);
  if (guest.sealed) got = guest.tls->receive(parts);
  if (got < 0 && would_block(errno)) return nullptr;
  if (got <= 0) {
    hung_up(found);
    return nullptr;
  }
  guest.bytes += size_t(got);
  const auto said = guest.bytes == guest.heard.size() ? parse_hello(guest.heard) : std::nullopt;
  if (!may_become_hello(guest) || (guest.bytes == guest.heard.size() && !said)) {
    send_away(found, begins_tls(guest) ? kWantsTls : "it does not speak plait's TCP protocol");
    return nullptr;
  }
  if (!said) return nullptr;
  hello = *said;
  poller_.remove(guest.socket.get());
  auto known = std::make_unique<Guest>(std::move(guest));
  guests_.erase(found);
  return known;
}

// Goes on with a guest's handshake. Empty, or why it is to be sent away; who says nothing costs nothing.
std::string Door::seal(Guest& guest) noexcept {
  if (!guest.tls) {
    if (!guest.begins_tls)
      return "it does not speak TLS, and this rank wants it: set PLAIT_NETWORK alike on all ranks";
    guest.tls = Tls::make(*tls_, guest.socket.get(), false);
    if (!guest.tls) return "there is no memory for TLS";
  }
  switch (guest.tls->shake()) {
    case Tls::Step::more:
      return {};
    case Tls::Step::done:
      guest.sealed = true;
      return {};
    case Tls::Step::ended:
      return "it hung up during the TLS handshake: did it refuse this rank's secret?";
    case Tls::Step::failed:
      break;
  }
  return std::string("its TLS handshake failed (OpenSSL: ") + guest.tls->reason() +
         "): it does not know the job's secret, or somebody is in between";
}

void Door::hung_up(std::map<uint64_t, Guest>::iterator guest) noexcept {
  log::info("{}: {} connected, and hung up without a word", name_, to_string(guest->second.from));
  leave(guest);
}

void Door::send_away(std::map<uint64_t, Guest>::iterator guest, const char* why) noexcept {
  turned_away(guest->second.from, why);
  leave(guest);
}

void Door::leave(std::map<uint64_t, Guest>::iterator guest) noexcept {
  poller_.remove(guest->second.socket.get());
  guests_.erase(guest);
}

void Door::turned_away(const Address& from, const char* why) noexcept {
  const Address address = from.with_port(0);
  if (told_.size() == kMostStrangersTold || std::ranges::find(told_, address) != told_.end()) return;
  told_.push_back(address);
  log::warn("{}: a connection from {} was sent away: {}", name_, to_string(from), why);
}

void Door::tick(int64_t now) noexcept {
  while (!guests_.empty() && guests_.begin()->second.until_ns <= now)
    send_away(guests_.begin(), "it did not say who it is in time");
  if (paused_until_ns_ == 0 || now < paused_until_ns_) return;
  paused_until_ns_ = 0;
  watch_listeners(true);
}

int64_t Door::due_ns() const noexcept {
  const int64_t guest = guests_.empty() ? INT64_MAX : guests_.begin()->second.until_ns;
  return paused_until_ns_ == 0 ? guest : std::min(guest, paused_until_ns_);
}

}  // namespace plait::transport::tcp
