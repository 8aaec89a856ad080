#include "perf/nccl/plain.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace plait::nccl_drive {
namespace {

constexpr int kSendSeconds = 60;
constexpr unsigned kReadsToYield = 32;  // empty reads

void tune(int fd) {
  const int one = 1;
  const timeval seconds{kSendSeconds, 0};
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &seconds, sizeof seconds);
}

int listen_on(sockaddr_in& address) {
  address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0 && ::listen(fd, 1) == 0 &&
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0)
    return fd;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  errno = error;
  return -1;
}

}  // namespace

PlainSocket::~PlainSocket() { drop(); }

void PlainSocket::drop() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Status PlainSocket::pair(PlainSocket* one, PlainSocket* other) {
  sockaddr_in address;
  PlainSocket listening(listen_on(address));
  if (listening.fd_ < 0) return Status::system(errno, "a plain socket on loopback");
  one->fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (one->fd_ < 0 || ::connect(one->fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return Status::system(errno, "connect of a plain socket");
  other->fd_ = ::accept(listening.fd_, nullptr, nullptr);
  if (other->fd_ < 0) return Status::system(errno, "accept of a plain socket");
  tune(one->fd_);
  tune(other->fd_);
  return Status();
}

Status PlainSocket::write(const void* bytes, size_t size) {
  for (size_t at = 0; at < size;) {
    const ssize_t n = ::send(fd_, static_cast<const char*>(bytes) + at, size - at, MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) return Status::system(errno, "write to a plain socket");
    if (n > 0) at += size_t(n);
  }
  return Status();
}

Status PlainSocket::read(void* bytes, size_t size, Deadline deadline) {
  unsigned spins = 0;
  for (size_t at = 0; at < size;) {
    const ssize_t n = ::recv(fd_, static_cast<char*>(bytes) + at, size - at, MSG_DONTWAIT);
    if (n > 0) {
      at += size_t(n);
      continue;
    }
    if (n == 0) return Status(Code::peer, "the other end of a plain socket is gone");
    if (errno != EAGAIN && errno != EINTR) return Status::system(errno, "read from a plain socket");
    if (++spins % kReadsToYield == 0) ::sched_yield();  // as a measured plugin's process does
    if (spins % 1024 == 0 && deadline.passed()) return Status(Code::timeout, "a plain socket stood still");
  }
  return Status();
}

}  // namespace plait::nccl_drive
