#include "tools/run/ends.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace plait::run {

void Ends::watch(pid_t pid) {
  if (!epoll_) epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  Fd fd(int(syscall(SYS_pidfd_open, pid, 0)));
  epoll_event event{.events = EPOLLIN, .data = {.u64 = uint64_t(pid)}};
  if (fd && epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) == 0)
    watched_.emplace(pid, std::move(fd));
}

// Descriptors come out of epoll_wait in the order in which they became ready.
std::vector<pid_t> Ends::take() {
  std::vector<pid_t> ended;
  std::array<epoll_event, 64> events;
  int got;
  while (epoll_ && (got = epoll_wait(epoll_.get(), events.data(), events.size(), 0)) > 0) {
    for (int i = 0; i < got; ++i) {
      ended.push_back(pid_t(events[size_t(i)].data.u64));
      watched_.erase(ended.back());
    }
  }
  return ended;
}

}  // namespace plait::run
