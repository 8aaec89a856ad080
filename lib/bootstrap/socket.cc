#include "bootstrap/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "bootstrap/crypto.h"

namespace plait::bootstrap {
namespace {

constexpr int kBacklog = 4096;  // all ranks of a job may dial at once

SocketAddress socket_address(const Place& place) {
  if (!place.on_unix()) return to_socket(place.ip);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;  // sun_path[0] stays 0: abstract
  const size_t bytes = std::min(place.name.size(), sizeof name.sun_path - 1);
  std::memcpy(name.sun_path + 1, place.name.data(), bytes);
  SocketAddress s;
  s.length = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + bytes);
  std::memcpy(&s.storage, &name, sizeof name);
  return s;
}

Fd make_socket(const Place& place) noexcept {
  const int family = place.on_unix() ? AF_UNIX : place.ip.family == 6 ? AF_INET6 : AF_INET;
  return Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void set(int fd, int level, int name, int value) noexcept {
  (void)::setsockopt(fd, level, name, &value, sizeof value);
}

// A host that vanished says nothing: probes and a bound on unacknowledged data make it known in about half a
// minute.
void tune(int fd) noexcept {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 25'000);
}

Address wildcard(uint8_t family) {
  Address any;
  any.family = family;
  return any;
}

}  // namespace

std::string to_string(const Place& place) {
  return place.on_unix() ? "Unix socket @" + place.name : to_string(place.ip);
}

Result<Fd> listen_at(const Place& place) {
  const std::string where = "listening at " + to_string(place);
  Fd fd = make_socket(place);
  if (!fd) return Status::system(errno, where);
  if (!place.on_unix()) set(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (place.ip.family == 6) set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, place.ip.any() ? 0 : 1);
  const SocketAddress address = socket_address(place);
  if (::bind(fd.get(), address.get(), address.length) == 0 && ::listen(fd.get(), kBacklog) == 0) return fd;
  const int error = errno;
  const Code code = error == EADDRINUSE ? Code::state : error == EADDRNOTAVAIL ? Code::invalid : Code::system;
  return Status(code, std::string(Status::system(error, where).text()));
}

Result<Fd> listen_in(const std::optional<Address>& at, uint16_t min, uint16_t max) {
  const uint32_t ports = min == 0 ? 1 : uint32_t(max) - min + 1;
  uint32_t start = 0;
  PLAIT_TRY(random_bytes(std::as_writable_bytes(std::span(&start, 1))));  // ranks start at different ports
  Result<Fd> fd = Status(Code::invalid, "no ports to listen at");
  for (uint32_t i = 0; i < ports; i++) {
    const auto port = uint16_t(min == 0 ? 0 : min + (start + i) % ports);
    fd = listen_at({at.value_or(wildcard(6)).with_port(port), {}});
    const bool no_ipv6 = !at && !fd.ok() && fd.status().code() != Code::state;
    if (no_ipv6) fd = listen_at({wildcard(4).with_port(port), {}});
    if (fd.ok() || fd.status().code() != Code::state) return fd;
  }
  return Status(Code::system, "no free port from " + std::to_string(min) + " to " + std::to_string(max) +
                                  " to listen at (PLAIT_PORTS): widen the range");
}

Address local_address(int fd) noexcept {
  SocketAddress s;
  s.length = sizeof s.storage;
  if (::getsockname(fd, s.get(), &s.length) != 0) return {};
  return from_socket(s.get(), s.length);
}

Fd start_connect(const Place& place, const Address& source) noexcept {
  Fd fd = make_socket(place);
  if (!fd) return fd;
  if (!place.on_unix()) tune(fd.get());
  int result = 0;
  if (source.family != 0) {
    const SocketAddress from = to_socket(source.with_port(0));
    set(fd.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    result = ::bind(fd.get(), from.get(), from.length);
  }
  const SocketAddress to = socket_address(place);
  if (result == 0) {
    do {
      result = ::connect(fd.get(), to.get(), to.length);
    } while (result != 0 && errno == EINTR);
  }
  if (result == 0 || errno == EINPROGRESS || errno == EALREADY) return fd;
  const int error = errno;
  fd.reset();
  errno = error;
  return fd;
}

int connect_result(int fd) noexcept {
  pollfd p{fd, POLLOUT, 0};
  if (::poll(&p, 1, 0) == 0) return EINPROGRESS;
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

Fd accept_from(int listener, Address* from) noexcept {
  SocketAddress s;
  s.length = sizeof s.storage;
  Fd fd;
  do {
    fd = Fd(::accept4(listener, s.get(), &s.length, SOCK_CLOEXEC | SOCK_NONBLOCK));
  } while (!fd && errno == EINTR);
  if (!fd) return fd;
  *from = from_socket(s.get(), s.length);
  if (from->valid()) tune(fd.get());
  return fd;
}

Process peer_process(int fd) noexcept {
  ucred them{};
  socklen_t length = sizeof them;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &them, &length) != 0) return {};
  return {them.pid, int64_t(them.uid)};
}

Status check_user(const Process& process) {
  if (process.uid == int64_t(::geteuid())) return {};
  return {Code::auth, "process " + std::to_string(process.pid) + " belongs to user " +
                          std::to_string(process.uid) + ", this rank to user " + std::to_string(::geteuid())};
}

}  // namespace plait::bootstrap
