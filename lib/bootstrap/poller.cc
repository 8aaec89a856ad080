#include "bootstrap/poller.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>

namespace plait::bootstrap {
namespace {

epoll_event event_of(uint64_t id, bool reads, bool writes) {
  epoll_event event{};
  event.events = (reads ? uint32_t(EPOLLIN) : 0) | (writes ? uint32_t(EPOLLOUT) : 0);
  event.data.u64 = id;
  return event;
}

}  // namespace

Status Poller::open() {
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return Status::system(errno, "epoll_create1");
  return {};
}

uint64_t Poller::add(int fd, bool reads, bool writes, Polled* who) {
  epoll_event event = event_of(last_ + 1, reads, writes);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return 0;
  entries_.emplace(++last_, Entry{fd, who});
  return last_;
}

void Poller::change(uint64_t id, bool reads, bool writes) noexcept {
  auto found = entries_.find(id);
  if (found == entries_.end()) return;
  epoll_event event = event_of(id, reads, writes);
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, found->second.fd, &event);
}

void Poller::remove(uint64_t id) noexcept {
  auto found = entries_.find(id);
  if (found == entries_.end()) return;
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second.fd, nullptr);
  entries_.erase(found);
}

void Poller::wait(int ms) {
  std::array<epoll_event, 64> events;
  const int n = ::epoll_wait(epoll_.get(), events.data(), int(events.size()), ms);
  for (int i = 0; i < n; i++) {
    // One that was removed by an earlier one is not found any more: numbers are never used twice.
    const uint64_t id = events[size_t(i)].data.u64;  // a copy: the struct is packed
    auto found = entries_.find(id);
    if (found != entries_.end()) found->second.who->ready();
  }
}

}  // namespace plait::bootstrap
