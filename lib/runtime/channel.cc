#include "runtime/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace plait::runtime {
namespace {

struct Header {
  Frame kind;
  uint32_t bytes;
};

Status gone(int error) {
  if (error == 0 || error == ECONNRESET || error == EPIPE) return {Code::peer, "the connection was closed"};
  return Status::system(error, "bootstrap socket");
}

Status send_all(int fd, ByteView bytes, const transport::Bounds& bounds) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      bytes = bytes.subspan(size_t(n));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      PLAIT_TRY(await(fd, POLLOUT, bounds));
    } else if (errno != EINTR) {
      return gone(errno);
    }
  }
  return {};
}

Status receive_all(int fd, std::byte* to, size_t bytes, const transport::Bounds& bounds) {
  while (bytes > 0) {
    const ssize_t n = ::recv(fd, to, bytes, MSG_DONTWAIT);
    if (n > 0) {
      to += n;
      bytes -= size_t(n);
    } else if (n == 0) {
      return gone(0);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      PLAIT_TRY(await(fd, POLLIN, bounds));
    } else if (errno != EINTR) {
      return gone(errno);
    }
  }
  return {};
}

}  // namespace

Status await(int fd, short events, const transport::Bounds& bounds) {
  for (;;) {
    if (bounds.aborted()) return {Code::aborted, "the communicator was aborted"};
    const int ms = bounds.deadline.left_ms(50);  // the abort flag is looked at that often
    if (ms == 0) return Status(Code::timeout, "the deadline passed");
    pollfd p{fd, events, 0};
    const int n = ::poll(&p, 1, ms);
    if (n > 0) return {};
    if (n < 0 && errno != EINTR) return Status::system(errno, "poll");
  }
}

Status send_frame(int fd, Frame kind, ByteView bytes, const transport::Bounds& bounds) {
  if (bytes.size() > kMaxFrame) return {Code::internal, "a bootstrap frame is too long"};
  const Header header{kind, uint32_t(bytes.size())};
  PLAIT_TRY(send_all(fd, bytes_of(header), bounds));
  return send_all(fd, bytes, bounds);
}

Result<Bytes> receive_frame(int fd, const transport::Bounds& bounds) {
  Header header{};
  PLAIT_TRY(receive_all(fd, reinterpret_cast<std::byte*>(&header), sizeof header, bounds));
  if (header.bytes > kMaxFrame || (header.kind != Frame::data && header.kind != Frame::failure)) {
    return Status(Code::version, "what came is not a frame of plait's bootstrap");
  }
  Bytes bytes(header.bytes);
  PLAIT_TRY(receive_all(fd, bytes.data(), bytes.size(), bounds));
  if (header.kind == Frame::failure) return decode_failure(bytes);
  return bytes;
}

Bytes encode(const Status& status) {
  Bytes bytes;
  append(bytes, int32_t(status.code()));
  auto text = std::as_bytes(std::span(status.text()));
  bytes.insert(bytes.end(), text.begin(), text.end());
  return bytes;
}

Status decode_failure(ByteView bytes) {
  int32_t code = 0;
  if (!take(bytes, code) || code >= 0 || code < int32_t(Code::internal)) code = int32_t(Code::internal);
  return {Code(code),
          std::string(reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), 4096))};
}

Status check_user(int fd) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return Status::system(errno, "getsockopt(SO_PEERCRED)");
  }
  if (credentials.uid == ::geteuid()) return {};
  return {Code::auth, "process " + std::to_string(credentials.pid) +
                          " at the other end of the job's socket belongs to user " +
                          std::to_string(credentials.uid) + ", this rank to user " +
                          std::to_string(::geteuid())};
}

}  // namespace plait::runtime
