#include "tools/icl/meet.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace plait::icl {
namespace {

constexpr int kPatienceMs = 60'000;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

void await_readable(int fd, const std::string& what) {
  pollfd p = {fd, POLLIN, 0};
  const int n = poll(&p, 1, kPatienceMs);
  if (n < 0) fail(what);
  if (n == 0) throw std::runtime_error(what + ": nobody came within a minute");
}

int try_to_join(const std::string& host, const std::string& port) {
  addrinfo hints{}, *all = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &all); error != 0)
    throw std::runtime_error("--join " + host + ":" + port + ": " + gai_strerror(error));
  int fd = -1;
  for (const addrinfo* a = all; a != nullptr && fd < 0; a = a->ai_next) {
    fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0) break;
    if (fd >= 0) close(fd);
    fd = -1;
  }
  freeaddrinfo(all);
  return fd;
}

}  // namespace

Meeting Meeting::listen(uint16_t port) {
  const std::string what = "--listen " + std::to_string(port);
  const int door = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, off = 0;
  if (door < 0) fail(what);
  const Meeting closes(door);
  sockaddr_in6 here{};
  here.sin6_family = AF_INET6;
  here.sin6_port = htons(port);
  (void)setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  (void)setsockopt(door, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(door, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 || ::listen(door, 1) != 0)
    fail(what);
  await_readable(door, what);
  const int fd = accept4(door, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) fail(what);
  return Meeting(fd);
}

Meeting Meeting::join(const std::string& where) {
  const size_t colon = where.rfind(':');
  if (colon == where.npos) throw std::runtime_error("--join: \"" + where + "\" is not HOST:PORT");
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  for (;;) {
    const int fd = try_to_join(where.substr(0, colon), where.substr(colon + 1));
    if (fd >= 0) return Meeting(fd);
    if (std::chrono::steady_clock::now() > end) fail("--join " + where + ": nobody listens there");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

Meeting::~Meeting() {
  if (fd_ >= 0) close(fd_);
}

void Meeting::send_all(const void* what, size_t bytes) const {
  if (send(fd_, what, bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes))
    fail("the other process went away");  // a few bytes always fit
}

void Meeting::receive_all(void* what, size_t bytes) const {
  await_readable(fd_, "waiting for the other process");
  if (recv(fd_, what, bytes, MSG_WAITALL) != static_cast<ssize_t>(bytes))
    throw std::runtime_error("the other process went away");
}

void Meeting::say(const Card& card) const { send_all(&card, sizeof card); }

Card Meeting::hear() const {
  Card card{};
  receive_all(&card, sizeof card);
  return card;
}

void Meeting::ready() const {
  char yes = 1;
  send_all(&yes, sizeof yes);
  receive_all(&yes, sizeof yes);
}

}  // namespace plait::icl
