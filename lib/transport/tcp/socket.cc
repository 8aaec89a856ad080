#include "transport/tcp/socket.h"

#include <ifaddrs.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>

#include "transport/tcp/wire.h"

namespace plait::transport::tcp {

namespace {

void set(int socket, int level, int option, int value) noexcept {
  setsockopt(socket, level, option, &value, sizeof value);
}

Fd make_socket(const Address& address) noexcept {
  return Fd(socket(address.family == 4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Before it connects or listens: the window that it may ever have is agreed on then.
void set_buffers(int socket, const Buffers& buffers) noexcept {
  if (buffers.send != 0) set(socket, SOL_SOCKET, SO_SNDBUF, int(buffers.send));
  if (buffers.receive != 0) set(socket, SOL_SOCKET, SO_RCVBUF, int(buffers.receive));
}

template <class Call>
auto retried(Call call) noexcept {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

bool bind_to(int socket, const Address& address) noexcept {
  const SocketAddress name = to_socket(address);
  return bind(socket, name.get(), name.length) == 0;
}

Fd make_listener(const Address& address, const Buffers& buffers) noexcept {
  Fd socket = make_socket(address);
  if (!socket) return socket;
  if (address.family == 6) set(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  set_buffers(socket.get(), buffers);
  return socket;
}

enum class Try { listens, taken, contested, failed };

// Two may be bound to one port until one of them listens: the other cannot be bound anew, so each try has a
// socket of its own. Where both listen at the same moment, Linux refuses both: it calls each a listener
// before it looks whether there is another.
Try listen_at(Fd& socket, const Address& address, const Buffers& buffers) noexcept {
  socket = make_listener(address, buffers);
  if (!socket) return Try::failed;
  set(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);  // connections that ended a minute ago do not count
  const bool bound = bind_to(socket.get(), address);
  if (bound && listen(socket.get(), SOMAXCONN) == 0) return Try::listens;
  const int error = errno;
  socket.reset();
  errno = error;
  if (error != EADDRINUSE) return Try::failed;
  return bound ? Try::contested : Try::taken;
}

// Somewhere in the range, so that ranks that start together do not all try the same ones; once more, a moment
// later, where a port was contested, since it may be free after all.
Fd listen_in(Address& address, const PortRange& range, const Buffers& buffers) noexcept {
  constexpr int kSweeps = 16;
  const uint32_t count = uint32_t(range.max) - range.min + 1;
  bool contested = true;
  for (int sweep = 0; contested && sweep < kSweeps; ++sweep) {
    if (sweep > 0) std::this_thread::sleep_for(std::chrono::microseconds(random_word() % 256));
    contested = false;
    const uint32_t first = uint32_t(random_word() % count);
    for (uint32_t i = 0; i < count; ++i) {
      address.port = uint16_t(range.min + (first + i) % count);
      Fd socket;
      const Try outcome = listen_at(socket, address, buffers);
      if (outcome == Try::listens || outcome == Try::failed) return socket;
      contested |= outcome == Try::contested;
    }
  }
  errno = EADDRINUSE;
  return {};
}

bool bind_any(int socket, Address& address) noexcept {
  address.port = 0;
  if (!bind_to(socket, address) || listen(socket, SOMAXCONN) != 0) return false;
  SocketAddress name;
  name.length = sizeof name.storage;
  if (getsockname(socket, name.get(), &name.length) != 0) return false;
  address.port = from_socket(name.get(), name.length).port;
  return true;
}

}  // namespace

Result<Fd> listen_on(Address& address, const PortRange& range, const Buffers& buffers) {
  const std::string ip = to_string(address.with_port(0));
  Fd socket = range.max == 0 ? make_listener(address, buffers) : listen_in(address, range, buffers);
  if (!socket && errno == EAFNOSUPPORT)
    return Status(Code::unsupported,
                  "tcp: this kernel has no IPv" + std::to_string(address.family) + ", for " + ip);
  const std::string with =
      range.max == 0 ? std::string()
                     : " with a port of " + std::to_string(range.min) + " to " + std::to_string(range.max);
  if (!socket || (range.max == 0 && !bind_any(socket.get(), address)))
    return Status::system(errno, "tcp: listening on " + ip + with);
  return socket;
}

Fd accept_from(int listener, Address& from) noexcept {
  SocketAddress name;
  Fd socket(retried([&] {
    name.length = sizeof name.storage;
    return accept4(listener, name.get(), &name.length, SOCK_CLOEXEC | SOCK_NONBLOCK);
  }));
  if (!socket) return socket;
  from = from_socket(name.get(), name.length);
  set(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  return socket;
}

Fd dial(const Address& local, const Address& remote, const Buffers& buffers) noexcept {
  Fd fd = make_socket(remote);
  if (!fd) return fd;
  set(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  set_buffers(fd.get(), buffers);
  const SocketAddress name = to_socket(remote);
  if (bind_to(fd.get(), local.with_port(0)) &&
      (connect(fd.get(), name.get(), name.length) == 0 || errno == EINPROGRESS || errno == EINTR))
    return fd;
  const int error = errno;
  fd.reset();
  errno = error;
  return fd;
}

// The kernel says twice what it was asked for: its bookkeeping is in there.
Buffers buffers_of(int socket) noexcept {
  const auto half = [&](int option) {
    int value = 0;
    socklen_t bytes = sizeof value;
    return getsockopt(socket, SOL_SOCKET, option, &value, &bytes) == 0 ? size_t(value) / 2 : 0;
  };
  return {half(SO_SNDBUF), half(SO_RCVBUF)};
}

void set_pacing(int socket, double bytes_per_second) noexcept {
  if (bytes_per_second <= 0) return;
  const auto rate = uint64_t(std::clamp(bytes_per_second, 1.0, 1e18));
  setsockopt(socket, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate);
}

int error_of(int socket) noexcept {
  int error = 0;
  socklen_t bytes = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

void set_pulse(int socket, int64_t ms) noexcept {
  const int timeout = int(std::clamp<int64_t>(ms, 1000, 1'000'000));
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, std::max(1, timeout / 1000));
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, timeout);
}

ssize_t send_some(int socket, std::span<iovec> parts) noexcept {
  if (parts.size() == 1) {
    return retried(
        [&] { return send(socket, parts[0].iov_base, parts[0].iov_len, MSG_NOSIGNAL | MSG_DONTWAIT); });
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  return retried([&] { return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT); });
}

ssize_t receive_some(int socket, std::span<iovec> parts) noexcept {
  if (parts.size() == 1) {
    return retried([&] { return recv(socket, parts[0].iov_base, parts[0].iov_len, MSG_DONTWAIT); });
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  return retried([&] { return recvmsg(socket, &message, MSG_DONTWAIT); });
}

ssize_t peek_some(int socket, std::span<std::byte> to) noexcept {
  return retried([&] { return recv(socket, to.data(), to.size(), MSG_DONTWAIT | MSG_PEEK); });
}

bool drop_some(int socket, std::span<std::byte> as_many) noexcept {
  return retried([&] { return recv(socket, as_many.data(), as_many.size(), MSG_DONTWAIT | MSG_TRUNC); }) ==
         ssize_t(as_many.size());
}

bool would_block(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK; }

uint8_t prefix_of(const Address& address) noexcept {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return 0;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(all, freeifaddrs);
  for (ifaddrs* i = all; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_netmask == nullptr) continue;
    const Address own = from_socket(i->ifa_addr, sizeof(sockaddr_in6));
    if (own.family != address.family || own.bytes != address.bytes) continue;
    // The mask of some drivers has no family of its own.
    i->ifa_netmask->sa_family = i->ifa_addr->sa_family;
    const Address mask = from_socket(i->ifa_netmask, sizeof(sockaddr_in6));
    int bits = 0;
    for (uint8_t b : mask.bytes) bits += std::popcount(b);
    return uint8_t(bits);
  }
  return 0;
}

bool same_network(const Address& a, const Address& b, uint8_t prefix) noexcept {
  if (a.family != b.family || prefix == 0) return false;
  for (size_t i = 0; i < a.bytes.size() && prefix > 0; ++i) {
    const int bits = std::min<int>(prefix, 8);
    if (((a.bytes[i] ^ b.bytes[i]) >> (8 - bits)) != 0) return false;
    prefix = uint8_t(prefix - bits);
  }
  return true;
}

}  // namespace plait::transport::tcp
