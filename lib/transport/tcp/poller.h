// An epoll descriptor whose events say what they are about by a kind and a number, not by a pointer: an
// earlier event of the same round may have ended what a later one is about.
#pragma once

#include <sys/epoll.h>

#include <cerrno>
#include <cstdint>
#include <span>

#include "base/file.h"
#include "base/status.h"

namespace plait::transport::tcp {

enum class Watch : uint8_t { timer, listener, guest, lane };

class Poller {
 public:
  struct Event {
    Watch kind;
    uint64_t id;
    uint32_t events;
  };

  Status open() {
    epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    return epoll_ ? Status() : Status::system(errno, "tcp: an epoll descriptor (look at ulimit -n)");
  }
  int fd() const noexcept { return epoll_.get(); }

  bool add(int fd, Watch kind, uint64_t id, uint32_t events) noexcept {
    return control(EPOLL_CTL_ADD, fd, kind, id, events);
  }
  bool change(int fd, Watch kind, uint64_t id, uint32_t events) noexcept {
    return control(EPOLL_CTL_MOD, fd, kind, id, events);
  }
  // Closing is not enough: a forked child may hold the same descriptor.
  void remove(int fd) noexcept { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

  // Those that are ready now, without waiting.
  size_t ready(std::span<Event> events) noexcept {
    constexpr size_t kMost = 32;
    epoll_event raw[kMost];
    const int most = int(events.size() < kMost ? events.size() : kMost);
    int count = 0;
    do {
      count = epoll_wait(epoll_.get(), raw, most, 0);
    } while (count < 0 && errno == EINTR);
    for (int i = 0; i < count; ++i)
      events[size_t(i)] = {Watch(raw[i].data.u64 >> kShift), raw[i].data.u64 & ((uint64_t{1} << kShift) - 1),
                           raw[i].events};
    return count < 0 ? 0 : size_t(count);
  }

 private:
  static constexpr int kShift = 56;
  bool control(int what, int fd, Watch kind, uint64_t id, uint32_t events) noexcept {
    epoll_event event{};
    event.events = events;
    event.data.u64 = uint64_t(kind) << kShift | id;
    return epoll_ctl(epoll_.get(), what, fd, &event) == 0;
  }
  Fd epoll_;
};

}  // namespace plait::transport::tcp
