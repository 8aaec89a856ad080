#include "fabric/wait_set.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <cerrno>

namespace plait::fabric {
namespace {

void control(int epoll, int operation, fid_cq& queue) noexcept {
  int fd = -1;
  epoll_event event{EPOLLIN, {}};
  if (fi_control(&queue.fid, FI_GETWAIT, &fd) == 0) epoll_ctl(epoll, operation, fd, &event);
}

}  // namespace

Status WaitSet::open(const Device& device) {
  if (!device.has_fd()) return {};
  fabric_ = device.fabric();
  epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  timer_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  epoll_event event{EPOLLIN, {}};
  if (!epoll_ || !timer_ || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, timer_.get(), &event) != 0)
    return Status::system(errno, "libfabric: an epoll and a timer descriptor (look at ulimit -n)");
  return {};
}

void WaitSet::add(fid_cq& queue) {
  if (!epoll_) return;
  queues_.push_back(&queue.fid);
  control(epoll_.get(), EPOLL_CTL_ADD, queue);
}

void WaitSet::remove(fid_cq& queue) noexcept {
  if (std::erase(queues_, &queue.fid) != 0) control(epoll_.get(), EPOLL_CTL_DEL, queue);
}

bool WaitSet::arm() noexcept {
  return queues_.empty() || fi_trywait(fabric_, queues_.data(), int(queues_.size())) == 0;
}

void WaitSet::wake_in(int64_t ns) noexcept {
  if (timer_) set_timer(ns);
}

// From now; 0: never.
void WaitSet::set_timer(int64_t ns) noexcept {
  itimerspec when{};
  when.it_value.tv_nsec = ns;
  timerfd_settime(timer_.get(), 0, &when, nullptr);
  timed_ = ns != 0;
}

}  // namespace plait::fabric
