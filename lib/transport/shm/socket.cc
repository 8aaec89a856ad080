#include "transport/shm/socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace plait::transport::shm {

namespace {

constexpr size_t kMaxFds = 2;

struct Address {
  sockaddr_un name{};
  socklen_t bytes = 0;
  explicit Address(const SocketName& nonce) noexcept {
    name.sun_family = AF_UNIX;  // sun_path[0] stays 0: abstract
    int length =
        std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "plait-shm-%016llx%016llx",
                      static_cast<unsigned long long>(nonce[0]), static_cast<unsigned long long>(nonce[1]));
    bytes = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + size_t(length));
  }
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&name); }
};

Fd make_socket() noexcept { return Fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

template <class Call>
auto retried(Call call) noexcept {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

Result<Fd> listen_at(const SocketName& name) {
  Fd listener = make_socket();
  Address address(name);
  if (!listener || bind(listener.get(), address.get(), address.bytes) != 0 ||
      listen(listener.get(), SOMAXCONN) != 0)
    return Status::system(errno, "shm: no Unix socket to listen at");
  return listener;
}

Fd dial(const SocketName& name) noexcept {
  Fd fd = make_socket();
  if (!fd) return fd;
  Address address(name);
  if (retried([&] { return connect(fd.get(), address.get(), address.bytes); }) == 0) return fd;
  int error = errno;
  fd.reset();
  errno = error;
  return fd;
}

Fd accept_from(int listener) noexcept {
  return Fd(retried([=] { return accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); }));
}

Result<Credentials> peer_of(int socket) {
  ucred them{};
  socklen_t bytes = sizeof them;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &them, &bytes) != 0)
    return Status::system(errno, "shm: who is at the other end of the Unix socket");
  return Credentials{them.pid, them.uid};
}

bool send_message(int socket, ByteView bytes, std::span<const int> fds) noexcept {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::byte control[CMSG_SPACE(kMaxFds * sizeof(int))]{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  }
  return retried([&] { return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT); }) ==
         ssize_t(bytes.size());
}

ssize_t receive_message(int socket, std::span<std::byte> bytes, std::span<Fd> fds) noexcept {
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::byte control[CMSG_SPACE(kMaxFds * sizeof(int))]{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = retried([&] { return recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT); });
  if (got < 0) return got;
  // Every descriptor is owned before anything is judged, so that a stranger cannot make us leak them.
  Fd received[kMaxFds];
  size_t count = 0;
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= at->cmsg_len && count < kMaxFds; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(at) + i * sizeof fd, sizeof fd);
      received[count++].reset(fd);
    }
  }
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || (count != 0 && count != fds.size())) {
    errno = EBADMSG;
    return -1;
  }
  for (size_t i = 0; i < count; ++i) fds[i] = std::move(received[i]);
  return got;
}

}  // namespace plait::transport::shm
