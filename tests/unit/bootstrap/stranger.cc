#include "stranger.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace plait::bootstrap::test {

Place place_of(const std::string& root) {
  const auto at = parse_host_ports(root).value().front();
  return {parse_ip(at.host)->with_port(at.port), {}};
}

Fd dial(const Place& place) {
  for (const Deadline deadline = Deadline::in_ms(5'000); !deadline.passed(); usleep(5'000)) {
    Fd fd = start_connect(place, {});
    if (!fd) continue;
    pollfd p{fd.get(), POLLOUT, 0};
    if (::poll(&p, 1, 2'000) == 1 && connect_result(fd.get()) == 0 && !(local_address(fd.get()) == place.ip))
      return fd;
  }
  return Fd();
}

bool send_all(const Fd& fd, ByteView bytes) {
  while (!bytes.empty()) {
    pollfd p{fd.get(), POLLOUT, 0};
    if (::poll(&p, 1, 2'000) != 1) return false;
    const ssize_t n = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0) return false;
    bytes = bytes.subspan(size_t(n));
  }
  return true;
}

Bytes receive_all(const Fd& fd, size_t most, int ms) {
  Bytes all(most);
  size_t got = 0;
  for (const Deadline deadline = Deadline::in_ms(ms); got < most && !deadline.passed();) {
    pollfd p{fd.get(), POLLIN, 0};
    if (::poll(&p, 1, deadline.left_ms(100)) != 1) continue;
    const ssize_t n = ::recv(fd.get(), all.data() + got, most - got, 0);
    if (n <= 0) break;
    got += size_t(n);
  }
  all.resize(got);
  return all;
}

bool was_closed(const Fd& fd, int ms) {
  std::byte bytes[256];
  for (const Deadline deadline = Deadline::in_ms(ms); !deadline.passed();) {
    pollfd p{fd.get(), POLLIN, 0};
    if (::poll(&p, 1, deadline.left_ms(100)) != 1) continue;
    if (::recv(fd.get(), bytes, sizeof bytes, 0) <= 0) return true;
  }
  return false;
}

Recorder::Recorder(const Place& to) : to_(to) {
  listener_ = std::move(listen_at({to.ip.with_port(0), {}}).value());
  server_ = std::thread([this] { serve(); });
}

Recorder::~Recorder() {
  stop_ = true;
  server_.join();
  for (auto& thread : threads_) thread.join();
}

std::string Recorder::root() const { return to_string(local_address(listener_.get())); }

Bytes Recorder::all() const {
  const std::lock_guard lock(mutex_);
  return all_;
}

std::vector<Bytes> Recorder::dialed() const {
  const std::lock_guard lock(mutex_);
  return dialed_;
}

void Recorder::serve() {
  while (!stop_) {
    pollfd p{listener_.get(), POLLIN, 0};
    if (::poll(&p, 1, 20) != 1) continue;
    Address from;
    Fd fd = accept_from(listener_.get(), &from);
    if (fd) threads_.emplace_back([this, fd = std::move(fd)]() mutable { carry(std::move(fd)); });
  }
}

void Recorder::carry(Fd from) {
  Fd to = dial(to_);
  if (!to) return;
  size_t index = 0;
  {
    const std::lock_guard lock(mutex_);
    index = dialed_.size();
    dialed_.emplace_back();
  }
  const Fd* ends[2] = {&from, &to};
  while (!stop_) {
    pollfd p[2] = {{from.get(), POLLIN, 0}, {to.get(), POLLIN, 0}};
    if (::poll(p, 2, 20) < 1) continue;
    for (int i = 0; i < 2; i++) {
      if (p[i].revents == 0) continue;
      std::byte bytes[65536];
      const ssize_t n = ::recv(ends[i]->get(), bytes, sizeof bytes, 0);
      if (n <= 0) return;
      const ByteView view(bytes, size_t(n));
      {
        const std::lock_guard lock(mutex_);
        all_.insert(all_.end(), view.begin(), view.end());
        if (i == 0) dialed_[index].insert(dialed_[index].end(), view.begin(), view.end());
      }
      if (!send_all(*ends[1 - i], view)) return;
    }
  }
}

}  // namespace plait::bootstrap::test
