#include "perf/progress.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/clock.h"

namespace plait::perf {
namespace {

constexpr int64_t kSecond = 1'000'000'000, kPatience = 2 * kSecond;

Fd terminal() {
  if (isatty(STDERR_FILENO) == 1) return Fd(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  const char* const path = std::getenv("PLAIT_TERMINAL");  // plait-run's
  Fd fd(path == nullptr ? -1 : open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC));
  return fd && isatty(fd.get()) == 1 ? std::move(fd) : Fd();
}

}  // namespace

Progress::Progress() : Progress(terminal()) {}

void Progress::begin(std::string what, uint64_t most) {
  end();
  what_ = std::move(what);
  most_ = most;
  count_ = 0;
  began_ns_ = now_ns();
  next_ns_ = began_ns_ + kPatience;
}

void Progress::show(int64_t now) {
  if (!shown() || now < next_ns_) return;
  next_ns_ = now + kSecond / 2;
  drawn_ = true;
  char share[16] = "";
  if (most_ != 0 && count_ != 0)
    std::snprintf(share, sizeof share, ": %.0f %%", 100 * double(count_) / double(most_));
  dprintf(terminal_.get(), "\r\033[K%s, %lld s%s", what_.c_str(),
          static_cast<long long>((now - began_ns_) / kSecond), share);
}

void Progress::end() {
  if (!std::exchange(drawn_, false)) return;
  dprintf(terminal_.get(), "\r\033[K");
}

}  // namespace plait::perf
