#include "proxy.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

namespace plait::transport::tcp::test {

Proxy::Proxy(const Address& target, const Plan& plan) : target_(target), plan_(plan) {
  address_ = target.with_port(0);
  listener_ = std::move(listen_on(address_, {}).value());
  thread_ = std::thread([this] { run(); });
}

Proxy::~Proxy() {
  stop_.store(true);
  thread_.join();
}

Bytes Proxy::ticket(const Endpoint& of) const {
  Ticket ticket = ticket_of(of);
  ticket.addresses[0] = address_;
  ticket.sum = sum_of(ticket);
  auto view = bytes_of(ticket);
  return {view.begin(), view.end()};
}

void Proxy::let_in() {
  Address from;
  Fd in = accept_from(listener_.get(), from);
  if (!in) return;
  Fd out = dial(target_, target_);
  if (!out) return;
  const int in_fd = in.get(), out_fd = out.get();
  ways_.push_back({std::move(in), out_fd, {}});
  ways_.push_back({std::move(out), in_fd, {}});
}

void Proxy::reset_all() {
  const linger now{1, 0};
  for (Way& way : ways_) setsockopt(way.from.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  ways_.clear();
}

// False when everything was reset.
bool Proxy::pass(Way& way) {
  if (way.left.empty() && !way.over) {
    std::byte buffer[65536];
    const ssize_t got = recv(way.from.get(), buffer, std::min(plan_.chunk, sizeof buffer), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != ENOTCONN)) {
      way.over = true;
      shutdown(way.to, SHUT_WR);
    }
    if (got <= 0) return true;
    way.left.assign(buffer, buffer + got);
    const uint64_t at = passed_.load();
    if (plan_.flip_at - at < uint64_t(got))
      way.left[plan_.flip_at - at] ^= std::byte(1 << (plan_.flip_at % 8));
    passed_.store(at + uint64_t(got));
  }
  if (passed_.load() > cut_at_.load()) {
    reset_all();
    return false;
  }
  if (way.left.empty()) return true;
  const ssize_t gave = send(way.to, way.left.data(), way.left.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (gave > 0) way.left.erase(way.left.begin(), way.left.begin() + gave);
  if (gave < 0 && errno != EAGAIN && errno != ENOTCONN) way.left.clear();
  return true;
}

void Proxy::run() {
  while (!stop_.load()) {
    let_in();
    for (size_t i = 0; i < ways_.size(); ++i) {
      if (!pass(ways_[i])) break;
    }
    std::this_thread::yield();
  }
}

}  // namespace plait::transport::tcp::test
